package assign

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Choice holds what the plugin of a resource may choose from for a container that has devices already. Both lists are
// sorted.
type Choice struct {
	Container string
	Resource  corev1.ResourceName
	Available []string
	Must      []string // of these, that the container has in any case
	Size      int
}

// Choice returns the devices that a container of a pod might have instead of its own. Settled are the pod's containers
// whose devices stay. A container that shares devices with one of these keeps them. ok is false if nothing is left to
// choose.
//
// Devices that other pods hold are not available, and those near to the container's NUMA nodes go first, as in
// Kubernetes: a plugin chooses among them, or among all others once these are taken.
func (r *Rules) Choice(
	of node.Shares, container string, resource corev1.ResourceName, others []node.Shares, settled func(string) bool,
) (c Choice, ok bool) {
	if r == nil {
		return c, false
	}
	own := of[container].Devices[resource]
	fixed, taken := map[string]bool{}, map[string]bool{}
	for name, share := range of {
		for _, id := range share.Devices[resource] {
			if settled(name) {
				fixed[id] = true
			}
		}
	}
	for _, shares := range others {
		for _, share := range shares {
			for _, id := range share.Devices[resource] {
				taken[id] = true
			}
		}
	}
	c = Choice{Container: container, Resource: resource, Size: len(own)}
	for _, id := range own {
		if fixed[id] {
			c.Must = append(c.Must, id)
		}
	}
	var free []node.Device
	for _, d := range r.Devices[resource] {
		if d.Healthy && !taken[d.ID] && !fixed[d.ID] {
			free = append(free, d)
		}
	}
	near := r.near(of[container], resource)
	aligned := slices.DeleteFunc(slices.Clone(free), func(d node.Device) bool { return !near(d.ID) })
	if left := c.Size - len(c.Must); left < len(aligned) {
		free = aligned
	} else {
		c.Must = append(c.Must, ids(aligned)...)
	}
	c.Available = append(ids(free), c.Must...)
	for _, list := range []*[]string{&c.Available, &c.Must} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c, len(c.Must) < c.Size && c.Size < len(c.Available)
}

// Exchange returns the shares of a pod after a plugin's wish, or false if that changes nothing. The container gets the
// devices that it has to have, those of the wish that are available, and is left with its own for the rest. What it
// gets from another container of the pod it exchanges with that. So containers that shared a device share one again,
// none has more or fewer, and none that was near to its NUMA nodes is farther away.
func (r *Rules) Exchange(of node.Shares, c Choice, wish []string) (node.Shares, bool) {
	own := of[c.Container].Devices[c.Resource]
	got := slices.Clone(c.Must)
	for _, id := range slices.Concat(wish, own) {
		if len(got) < c.Size && !slices.Contains(got, id) && (slices.Contains(c.Available, id) || slices.Contains(own, id)) {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	leaves, comes := without(own, got), without(got, own)
	if len(comes) == 0 || len(leaves) != len(comes) {
		return nil, false
	}
	swap := map[string]string{}
	for i := range comes {
		swap[leaves[i]], swap[comes[i]] = comes[i], leaves[i]
	}
	made := node.Shares{}
	for name, share := range of {
		if made[name] = share; len(share.Devices[c.Resource]) == 0 {
			continue
		}
		now := swapped(share.Devices[c.Resource], swap)
		if near := r.near(share, c.Resource); count(now, near) < count(share.Devices[c.Resource], near) {
			return nil, false
		}
		made[name] = share.WithDevices(c.Resource, now)
	}
	return made, true
}

// near tells which devices are near to the NUMA nodes that were chosen for a container. None is, if that did not matter.
func (r *Rules) near(share node.Share, resource corev1.ResourceName) func(id string) bool {
	// Only what this package wrote is read, and it writes what can be read.
	nodes, err := cpuset.Parse(share.Near)
	return func(id string) bool {
		return err == nil && slices.ContainsFunc(r.Devices[resource], func(d node.Device) bool {
			return d.ID == id && slices.ContainsFunc(d.Nodes, nodes.Contains)
		})
	}
}

func ids(devices []node.Device) (list []string) {
	for _, d := range devices {
		list = append(list, d.ID)
	}
	return list
}

func without(list, these []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(these, id) })
}

func count(list []string, that func(string) bool) (n int) {
	for _, id := range list {
		if that(id) {
			n++
		}
	}
	return n
}

func swapped(list []string, swap map[string]string) []string {
	now := slices.Clone(list)
	for i, id := range list {
		if other, ok := swap[id]; ok {
			now[i] = other
		}
	}
	slices.Sort(now)
	return now
}
