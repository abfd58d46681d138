package device

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node"
)

// Bounds of a device.
const (
	mostID    = 512
	mostNodes = 64
	mostNUMA  = 1024 // the kernel's greatest number of a NUMA node is below
)

// mostThings bounds how many mounts, device files, variables, annotations or CDI devices a plugin gives a container.
const mostThings = 1000

// devicesOf returns the devices that a plugin lists, by ID. One without an ID is left out. One that is listed twice is
// one device, and healthy only if both say so.
func devicesOf(said *deviceapi.ListAndWatchResponse) []node.Device {
	byID := map[string]node.Device{}
	for _, d := range said.GetDevices() {
		if d.GetID() == "" || len(d.GetID()) > mostID {
			continue
		}
		made := node.Device{ID: d.GetID(), Healthy: d.GetHealth() == deviceapi.Healthy}
		for _, n := range d.GetTopology().GetNodes() {
			if id := n.GetID(); id >= 0 && id < mostNUMA && len(made.Nodes) < mostNodes && !slices.Contains(made.Nodes, int(id)) {
				made.Nodes = append(made.Nodes, int(id))
			}
		}
		slices.Sort(made.Nodes)
		if twin, ok := byID[made.ID]; ok {
			made.Healthy = made.Healthy && twin.Healthy
		}
		byID[made.ID] = made
	}
	list := make([]node.Device, 0, len(byID))
	for _, d := range byID {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b node.Device) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// grantOf returns what a plugin gives a container, or why no container can be made of it.
func grantOf(answer *deviceapi.AllocateResponse) (node.Grant, error) {
	if n := len(answer.GetContainerResponses()); n != 1 {
		return node.Grant{}, fmt.Errorf("it answers for %d containers, and was asked for one", n)
	}
	said, grant := answer.GetContainerResponses()[0], node.Grant{}
	for _, n := range []int{len(said.GetMounts()), len(said.GetDevices()), len(said.GetEnvs()), len(said.GetAnnotations()), len(said.GetCdiDevices())} {
		if n > mostThings {
			return node.Grant{}, fmt.Errorf("it gives %d things of one kind, more than %d", n, mostThings)
		}
	}
	for name, value := range said.GetEnvs() {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return node.Grant{}, fmt.Errorf("it gives a variable %q, which no process can have", name)
		}
	}
	grant.Env, grant.Annotations = said.GetEnvs(), said.GetAnnotations()
	var errs []error
	for _, m := range said.GetMounts() {
		errs = append(errs, absolute("mount", m.GetHostPath(), m.GetContainerPath()))
		grant.Mounts = append(grant.Mounts, node.GrantedMount{
			Host: m.GetHostPath(), Container: m.GetContainerPath(), ReadOnly: m.GetReadOnly(),
		})
	}
	for _, d := range said.GetDevices() {
		made := node.GrantedNode{Host: d.GetHostPath(), Container: d.GetContainerPath(), Permissions: d.GetPermissions()}
		errs = append(errs, absolute("device", made.Host, made.Container))
		if made.Permissions == "" || strings.Trim(made.Permissions, "rwm") != "" {
			errs = append(errs, fmt.Errorf("it gives device %s with permissions %q, which are none of r, w and m", made.Host, made.Permissions))
		}
		grant.Nodes = append(grant.Nodes, made)
	}
	for _, d := range said.GetCdiDevices() {
		if kind, name, ok := strings.Cut(d.GetName(), "="); !ok || name == "" || !strings.Contains(kind, "/") {
			errs = append(errs, fmt.Errorf("it gives CDI device %q, which is not of the form vendor/class=name", d.GetName()))
		}
		grant.CDI = append(grant.CDI, d.GetName())
	}
	if err := errors.Join(errs...); err != nil {
		return node.Grant{}, err
	}
	return grant, nil
}

func absolute(what string, paths ...string) error {
	for _, p := range paths {
		if !path.IsAbs(p) || strings.Contains(p, "\x00") {
			return fmt.Errorf("it gives a %s at %q, which is no absolute path", what, p)
		}
	}
	return nil
}
