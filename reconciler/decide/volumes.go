package decide

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// volumes lays out every volume that a container mounts, beside the sandbox and the images. It brings a volume up to
// date when its objects change.
func volumes(p *Plan, v *View) bool {
	if !v.prepares(p) {
		return false
	}
	for volume := range node.MountedVolumes(v.spec) {
		version := v.version(volume)
		if have, ok := v.got.Part(node.Volumes, volume.Name); !ok || have.Version != version {
			p.try(v, v.layOut(volume, version))
		}
	}
	return false
}

// layOut returns the action that makes a volume ready. For an image that is to have the image: the runtime mounts it.
// Once containers were made, the image is there and is not pulled again.
func (v *View) layOut(volume *corev1.Volume, version string) node.Action {
	image := volume.Image
	if image == nil {
		return node.SetUpVolume(volume.Name, version)
	}
	policy := image.PullPolicy
	if len(v.got.Containers) > 0 && policy == corev1.PullAlways {
		policy = corev1.PullIfNotPresent
	}
	return node.EnsureImage{Volume: volume.Name, Ref: image.Reference, Policy: policy}
}

// inPlace reports whether every volume is there, so that containers may be made. A volume that cannot be brought up to
// date serves as it is.
func (v *View) inPlace() bool {
	for volume := range node.MountedVolumes(v.spec) {
		have, ok := v.got.Part(node.Volumes, volume.Name)
		_, failed := v.got.Faults[node.VolumeTarget(volume.Name)]
		if !ok || have.Version != v.version(volume) && !failed {
			return false
		}
	}
	return true
}

// version identifies the content of a volume: the revision of each object, 0 for a missing one, and the facts of the
// pod that the volume shows. The rest of its spec never changes under a pod.
func (v *View) version(volume *corev1.Volume) string {
	var parts []string
	for _, ref := range node.VolumeRefs(v.pod.Object, volume) {
		parts = append(parts, fmt.Sprintf("%s@%d", ref.Name, v.objects[ref]))
	}
	if node.ShowsPod(volume) {
		parts = append(parts, "pod@"+facts(v.object))
	}
	return strings.Join(parts, ",")
}

// facts returns a fingerprint of those facts of a pod that may change while it runs and that volumes may show.
func facts(pod *corev1.Pod) string {
	sum := fnv.New32a()
	// Maps are encoded in the order of their keys. Encoding these values cannot fail.
	_ = json.NewEncoder(sum).Encode([]any{pod.Labels, pod.Annotations, node.ResourcesOf(pod)})
	return fmt.Sprintf("%08x", sum.Sum32())
}
