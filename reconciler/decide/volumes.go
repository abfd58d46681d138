package decide

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// volumes has every volume in place that a container mounts, beside the sandbox
// and the images, and brings it up to date when what it is made from changes.
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

// layOut makes a volume ready. An image is mounted by the runtime, which needs to
// have it; once containers were made it has.
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

// inPlace says whether containers may be made: every volume is there. One that
// cannot be brought up to date serves as it is.
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

// version names what a volume is made from: the revision of each object, 0 for
// one that is not there, and what the volume tells of the pod. The rest of its
// spec never changes under a pod.
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

// facts is a fingerprint of what may change in a running pod and be shown in it.
func facts(pod *corev1.Pod) string {
	sum := fnv.New32a()
	// Maps are encoded in the order of their keys, and cannot fail to be.
	_ = json.NewEncoder(sum).Encode([]any{pod.Labels, pod.Annotations, node.ResourcesOf(pod)})
	return fmt.Sprintf("%08x", sum.Sum32())
}
