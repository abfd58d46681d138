package main

import (
	"context"
	"errors"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/disk"
	"nodal/host/stats"
	"nodal/node"
)

// measured finds and measures what pods have on the node's disk.
type measured struct{ agent *agent }

var _ stats.Disk = measured{}

func (m measured) Places(pod *node.Pod) ([]stats.Place, error) {
	var places []stats.Place
	var errs []error
	for i := range pod.Object.Spec.Volumes {
		place, ok := placeOf(pod.Object, &pod.Object.Spec.Volumes[i])
		if !ok {
			continue
		}
		var err error
		place.Dir, err = m.agent.volumes.NodeDir(pod.Object, place.Volume)
		if place.Dir != "" {
			places = append(places, place)
		}
		errs = append(errs, err)
	}
	dir, err := m.agent.files.Logs.PodDir(pod.Key(), pod.UID())
	if err != nil {
		return places, errors.Join(append(errs, err)...)
	}
	for c := range node.Containers(&pod.Object.Spec) {
		places = append(places, stats.Place{Dir: filepath.Join(dir, c.Name), Container: c.Name})
	}
	return places, errors.Join(errs...)
}

// placeOf says how a volume is measured; false: it is not the pod's own.
func placeOf(pod *corev1.Pod, v *corev1.Volume) (stats.Place, bool) {
	place := stats.Place{Volume: v.Name}
	claim, ok := node.ClaimName(pod, v)
	switch {
	case ok:
		place.Claim, place.Apart = claim, true
	case v.EmptyDir != nil:
		place.Apart = v.EmptyDir.Medium != corev1.StorageMediumDefault
		place.Ephemeral = !place.Apart
	case v.ConfigMap != nil:
		place.Ephemeral = true
	case v.Secret == nil && v.DownwardAPI == nil && v.Projected == nil:
		return place, false
	}
	return place, true
}

func (m measured) Measure(ctx context.Context, dir string) (bytes, inodes uint64, err error) {
	use, err := disk.Measure(ctx, dir)
	return uint64(use.Bytes), uint64(use.Inodes), err
}
