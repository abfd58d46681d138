package node

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Kubernetes' words for a volume that cannot be laid out, or taken away.
const (
	FailedMount   = "FailedMount"
	FailedUnmount = "FailedUnMount"

	VolumeFailedDelete = "VolumeFailedDelete" // the files of a volume whose claim is gone
)

// MountedVolumes yields the volumes of a pod that any of its containers mounts, or has as a device,
// in the order of the manifest. The others are never made.
func MountedVolumes(spec *corev1.PodSpec) iter.Seq[*corev1.Volume] {
	mounted := map[string]bool{}
	for c := range EveryContainer(spec) {
		for _, mount := range c.VolumeMounts {
			mounted[mount.Name] = true
		}
		for _, device := range c.VolumeDevices {
			mounted[device.Name] = true
		}
	}
	return func(yield func(*corev1.Volume) bool) {
		for i := range spec.Volumes {
			if mounted[spec.Volumes[i].Name] && !yield(&spec.Volumes[i]) {
				return
			}
		}
	}
}

// ClaimName returns the claim that a volume of a pod stands for, if any. A generic ephemeral volume
// has a claim of its own, which goes with the pod.
func ClaimName(pod *corev1.Pod, v *corev1.Volume) (name string, ok bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, true
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name, true
	}
	return "", false
}

// VolumeRefs returns the objects, and families of objects, that a volume of a pod is made from, the
// optional ones included.
func VolumeRefs(pod *corev1.Pod, v *corev1.Volume) []ObjectRef {
	var refs []ObjectRef
	use := func(kind ObjectKind, name string) { refs = append(refs, ObjectRef{kind, pod.Namespace, name}) }
	if claim, ok := ClaimName(pod, v); ok {
		use(PersistentVolumeClaim, claim)
	}
	switch {
	case v.ConfigMap != nil:
		use(ConfigMap, v.ConfigMap.Name)
	case v.Secret != nil:
		use(Secret, v.Secret.SecretName)
	case v.CSI != nil:
		refs = append(refs, ObjectRef{Kind: CSIDriverObject, Name: v.CSI.Driver})
		if secret := v.CSI.NodePublishSecretRef; secret != nil {
			use(Secret, secret.Name)
		}
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if source.ConfigMap != nil {
				use(ConfigMap, source.ConfigMap.Name)
			}
			if source.Secret != nil {
				use(Secret, source.Secret.Name)
			}
			if source.ClusterTrustBundle != nil {
				refs = append(refs, bundleRef(source.ClusterTrustBundle))
			}
		}
	}
	return refs
}

// ShowsPod reports whether a volume holds facts of its pod, which may change while it runs.
func ShowsPod(v *corev1.Volume) bool {
	if v.Projected != nil {
		for i := range v.Projected.Sources {
			if v.Projected.Sources[i].DownwardAPI != nil {
				return true
			}
		}
	}
	return v.DownwardAPI != nil
}
