package reconciler

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/assign"
)

// ills knows which devices are ill, as the last offer of the node has it.
type ills struct {
	devices assign.Devices
}

// mind takes the devices of another offer, and gives a turn to the pods that have some.
func (l *Loop) mind(devices assign.Devices) {
	l.ills.devices = devices
	for key, t := range l.tracks {
		if len(devicesOf(t.Slot().Pod)) > 0 {
			l.dirty[key] = true
		}
	}
}

// devicesOf returns the devices of a pod without their health, in order. Containers of it may share some.
func devicesOf(pod *node.Pod) (all []node.DeviceHealth) {
	for _, share := range pod.Shares {
		for name, ids := range share.Devices {
			for _, id := range ids {
				all = append(all, node.DeviceHealth{Resource: name, ID: id})
			}
		}
	}
	slices.SortFunc(all, func(a, b node.DeviceHealth) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(all)
}

// health returns how the devices of a pod are. Of one that no plugin lists it is not known.
func (i ills) health(pod *node.Pod) []node.DeviceHealth {
	all := devicesOf(pod)
	for n := range all {
		all[n].Health = corev1.ResourceHealthStatusUnknown
		for _, d := range i.devices[all[n].Resource] {
			switch {
			case d.ID != all[n].ID:
			case d.Healthy:
				all[n].Health = corev1.ResourceHealthStatusHealthy
			default:
				all[n].Health = corev1.ResourceHealthStatusUnhealthy
			}
		}
	}
	return all
}
