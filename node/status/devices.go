package status

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// devices shows the devices of a container, with their health.
func (d *deriver) devices(container string) (all []corev1.ResourceStatus) {
	devices := d.pod.Shares[container].Devices
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		shown := corev1.ResourceStatus{Name: name}
		for _, id := range devices[name] {
			health := corev1.ResourceHealthStatusUnknown
			for _, known := range d.got.Devices {
				if known.Resource == name && known.ID == id {
					health = known.Health
				}
			}
			shown.Resources = append(shown.Resources, corev1.ResourceHealth{ResourceID: corev1.ResourceID(id), Health: health})
		}
		all = append(all, shown)
	}
	return all
}
