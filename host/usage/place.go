package usage

import (
	"errors"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// places lists the wanted directories of a pod.
func (m *Meter) places(pod *node.Pod, wanted func(node.DiskPlace) bool) ([]node.DiskPlace, error) {
	var places []node.DiskPlace
	var errs []error
	for i := range pod.Object.Spec.Volumes {
		place, ok := placeOf(pod.Object, &pod.Object.Spec.Volumes[i])
		if !ok || !wanted(place) {
			continue
		}
		var err error
		place.Dir, err = m.config.Volumes.NodeDir(pod.Object, place.Volume)
		if place.Dir == "" && err == nil {
			place.Dir, err = m.config.Volumes.DrivenDir(pod.Object, place.Volume)
			place.Driven = place.Dir != ""
		}
		if place.Dir != "" {
			places = append(places, place)
		}
		errs = append(errs, err)
	}
	logs, err := m.config.LogDir(pod.Key(), pod.UID())
	if err != nil {
		return places, errors.Join(append(errs, err)...)
	}
	for c := range node.Containers(&pod.Object.Spec) {
		place := node.DiskPlace{Container: c.Name, Dir: filepath.Join(logs, c.Name)}
		if wanted(place) {
			places = append(places, place)
		}
	}
	return places, errors.Join(errs...)
}

// placeOf describes a volume for its measurement, without its directory. ok is false if the volume is not the pod's
// own.
func placeOf(pod *corev1.Pod, v *corev1.Volume) (place node.DiskPlace, ok bool) {
	place.Volume = v.Name
	claim, claims := node.ClaimName(pod, v)
	switch {
	case claims:
		place.Claim, place.Apart = claim, true
	case v.EmptyDir != nil:
		place.Apart = v.EmptyDir.Medium != corev1.StorageMediumDefault
		place.Ephemeral = !place.Apart
	case v.CSI != nil:
		place.Apart = true
	case v.ConfigMap != nil:
		place.Ephemeral = true
	case v.Secret == nil && v.DownwardAPI == nil && v.Projected == nil:
		return place, false
	}
	return place, true
}
