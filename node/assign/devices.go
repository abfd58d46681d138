package assign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Devices holds those that plugins offer, by resource. A resource without devices is known and cannot be had.
type Devices map[corev1.ResourceName][]node.Device

// shelf holds the devices of a resource while the containers of a pod are served.
type shelf struct {
	all   []node.Device // that plugins offer, healthy or not
	free  []node.Device // healthy, and held by no pod
	again []node.Device // that init containers have given back
}

// shelves computes which devices other pods have left. A resource of which a pod holds devices is known, even if its
// plugin is not there.
func (r *Rules) shelves(held []node.Shares) map[corev1.ResourceName]*shelf {
	made, taken := map[corev1.ResourceName]*shelf{}, map[corev1.ResourceName]map[string]bool{}
	for _, shares := range held {
		for _, share := range shares {
			for name, ids := range share.Devices {
				if taken[name] == nil {
					made[name], taken[name] = &shelf{}, map[string]bool{}
				}
				for _, id := range ids {
					taken[name][id] = true
				}
			}
		}
	}
	for name, devices := range r.Devices {
		s := &shelf{all: devices}
		for _, d := range devices {
			if d.Healthy && !taken[name][d.ID] {
				s.free = append(s.free, d)
			}
		}
		made[name] = s
	}
	return made
}

// devicesOf returns how many devices of each known resource a container gets: as many as it is limited to. Every class
// of pods gets them.
func (s *stock) devicesOf(c *corev1.Container) Amounts {
	var wants Amounts
	for name, quantity := range c.Resources.Limits {
		if s.shelves[name] == nil || quantity.Value() <= 0 {
			continue
		}
		if wants == nil {
			wants = Amounts{}
		}
		wants[name] = quantity.Value()
	}
	return wants
}

// deviceHints lists the sets of NUMA nodes that so many devices are near to. ok is false if the place does not matter:
// no device of the resource has one.
func (s *stock) deviceHints(name corev1.ResourceName, count int64) (list []hint, ok bool) {
	on := s.shelves[name]
	if len(s.ids) == 0 || !slices.ContainsFunc(on.all, func(d node.Device) bool { return len(d.Nodes) > 0 }) {
		return nil, false
	}
	near := func(devices []node.Device, ids []int) (n int64) {
		for _, d := range devices {
			if slices.ContainsFunc(d.Nodes, func(id int) bool { return slices.Contains(ids, id) }) {
				n++
			}
		}
		return n
	}
	return s.hints(func(ids []int) (could, can bool) {
		again := near(on.again, ids)
		whole := again == min(int64(len(on.again)), count) || again >= count // what is used again has to be near too
		return near(on.all, ids) >= count, whole && again+near(on.free, ids) >= count
	}, false), true
}

// takeDevices takes devices of a resource: those that are to be used again, then those near to the NUMA nodes.
func (s *stock) takeDevices(name corev1.ResourceName, count int64, near mask, forStart bool) ([]string, *node.Refusal) {
	on, ids := s.shelves[name], s.nodes(near)
	again := min(count, int64(len(on.again)))
	more := count - again
	switch {
	case more > 0 && node.Healthy(on.all) == 0:
		return nil, refused(node.LackDevices, "", fmt.Sprintf("no healthy devices present; cannot allocate unhealthy devices %s", name))
	case more > int64(len(on.free)):
		return nil, refused(node.LackDevices, "", fmt.Sprintf(
			"requested number of devices unavailable for %s. Requested: %d, Available: %d", name, more, len(on.free)))
	}
	order := func(a, b node.Device) int { return cmp.Compare(away(a, ids), away(b, ids)) } // stable: then by ID
	slices.SortStableFunc(on.again, order)
	slices.SortStableFunc(on.free, order)
	taken := slices.Concat(on.again[:again], on.free[:more])
	on.free = on.free[more:]
	if !forStart {
		on.again = on.again[again:]
	} else {
		on.again = append(on.again, taken[again:]...)
	}
	names := make([]string, len(taken))
	for i, d := range taken {
		names[i] = d.ID
	}
	slices.Sort(names)
	return names, nil
}

// away ranks a device by its place: within some NUMA nodes, partly so, elsewhere, or without a place.
func away(d node.Device, ids []int) int {
	within := 0
	for _, id := range d.Nodes {
		if slices.Contains(ids, id) {
			within++
		}
	}
	switch {
	case len(d.Nodes) == 0:
		return 3
	case within == len(d.Nodes):
		return 0
	case within > 0:
		return 1
	}
	return 2
}

// serveDevices assigns a container its devices.
func (s *stock) serveDevices(share *node.Share, wants Amounts, near mask, forStart bool) *node.Refusal {
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		ids, refusal := s.takeDevices(name, wants[name], near, forStart)
		if refusal != nil {
			return refusal
		}
		if share.Devices == nil {
			share.Devices = map[corev1.ResourceName][]string{}
		}
		share.Devices[name] = ids
		if s.aligns() {
			share.Near = cpuset.New(s.nodes(near)...).String()
		}
	}
	return nil
}

func holdsDevices(held []node.Shares) bool {
	return slices.ContainsFunc(held, func(shares node.Shares) bool {
		for _, share := range shares {
			if len(share.Devices) > 0 {
				return true
			}
		}
		return false
	})
}
