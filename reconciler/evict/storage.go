package evict

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
)

// OnDisk reports whether a volume is a directory on the node's disk that is removed with its pod.
func OnDisk(v *corev1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumDefault
}

// Bound returns the volumes of a pod that have to be measured because of a limit, and whether what its containers write
// elsewhere has to be.
func Bound(pod *corev1.Pod) (volumes []string, containers bool) {
	for c := range node.Containers(&pod.Spec) {
		if limit := c.Resources.Limits.StorageEphemeral(); !limit.IsZero() {
			containers = true
		}
	}
	for v := range node.MountedVolumes(&pod.Spec) {
		if OnDisk(v) && (containers || sizeOf(v) > 0) {
			volumes = append(volumes, v.Name)
		}
	}
	return volumes, containers
}

func sizeOf(v *corev1.Volume) int64 {
	if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
		return 0
	}
	return v.EmptyDir.SizeLimit.Value()
}

// Limit is Kubernetes' name of a limit on what pods write.
type Limit string

const (
	LimitNone      Limit = ""
	LimitVolume    Limit = "emptydirfs.limit"
	LimitPod       Limit = "ephemeralpodfs.limit"
	LimitContainer Limit = "ephemeralcontainerfs.limit"
)

// Overuse returns the limit that a pod is over, in Kubernetes' words and order, or LimitNone.
func Overuse(pod *corev1.Pod, written node.Written) (over Limit, message string) {
	total := int64(0)
	for v := range node.MountedVolumes(&pod.Spec) {
		used := written.Volumes[v.Name]
		if limit := sizeOf(v); OnDisk(v) && limit > 0 && used > limit {
			return LimitVolume, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q.", v.Name, v.EmptyDir.SizeLimit)
		}
		total += used
	}
	for _, used := range written.Containers {
		total += used
	}
	limits := resources.PodLimits(pod, resources.PodResourcesOptions{})
	if limit := limits.StorageEphemeral(); !limit.IsZero() && total > limit.Value() {
		return LimitPod, fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s.", limit)
	}
	for c := range node.Containers(&pod.Spec) {
		limit := c.Resources.Limits.StorageEphemeral()
		if used := written.Containers[c.Name]; !limit.IsZero() && used > limit.Value() {
			return LimitContainer, fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q.", c.Name, limit)
		}
	}
	return LimitNone, ""
}
