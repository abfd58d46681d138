package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/limit"
)

// Kind names the way in which a running pod can take a new manifest.
type Kind int

const (
	Same    Kind = iota // nothing to do
	InPlace             // the pod goes on; at most single containers restart
	Replace             // the old pod has to be gone before the new one starts
)

func (k Kind) String() string {
	switch k {
	case Same:
		return "same"
	case InPlace:
		return "in place"
	default:
		return "replace"
	}
}

// Difference holds the changes between two manifests of a pod.
type Difference struct {
	Kind   Kind
	Fields []string // paths of all fields that differ, sorted
	Images []string // names of the containers whose image changed

	Resized bool // containers ask for other amounts of CPU or memory
}

// Change says how a pod that runs from old can take new. Both are compared with their defaults, so
// that a manifest of an earlier version does not differ by a default that it did not know. Fields
// that servers and sources write are ignored.
func Change(old, new *corev1.Pod) Difference {
	before, after := authored(old), authored(new)
	if len(after.Spec.EphemeralContainers) == 0 { // a manifest without any leaves them as they are
		after.Spec.EphemeralContainers = before.Spec.EphemeralContainers
	}
	fields := differing(before, after)
	slices.Sort(fields)
	difference := Difference{Fields: fields, Images: changedImages(before, after)}
	for _, path := range fields {
		difference.Kind = max(difference.Kind, kindOf(path, before, after))
		difference.Resized = difference.Resized || amount(path)
	}
	if limit.Class(before) != limit.Class(after) {
		difference.Kind = Replace // the pod would have to move in the tree of cgroups
	}
	return difference
}

// kindOf says how a running pod takes a difference in one field. Kubernetes lets an update change
// labels, annotations, images, the deadline and tolerations. Two fields are added that are read
// only when a pod ends and when a container starts: the grace period, and the pull policy, whose
// default follows the image's tag. CPU and memory of containers change by a resize. Ephemeral
// containers are added; CheckAdded refuses other changes of them.
func kindOf(path string, before, after *corev1.Pod) Kind {
	if amount(path) && resizable(before, after) || strings.HasPrefix(path, "spec.ephemeralContainers") || strings.HasPrefix(path, "metadata.ownerReferences") {
		return InPlace
	}
	switch shape(path) {
	case "metadata.labels[]", "metadata.annotations[]",
		"spec.containers[].image", "spec.initContainers[].image",
		"spec.containers[].imagePullPolicy", "spec.initContainers[].imagePullPolicy",
		"spec.terminationGracePeriodSeconds", "spec.activeDeadlineSeconds":
		return InPlace
	case "spec.tolerations":
		if onlyAdded(before.Spec.Tolerations, after.Spec.Tolerations) {
			return InPlace
		}
	}
	return Replace
}

// onlyAdded reports whether every old toleration is still there. How long one
// lasts may change.
func onlyAdded(before, after []corev1.Toleration) bool {
	for _, old := range before {
		kept := slices.ContainsFunc(after, func(t corev1.Toleration) bool {
			t.TolerationSeconds = old.TolerationSeconds
			return t == old
		})
		if !kept {
			return false
		}
	}
	return true
}

// changedImages names the containers that run another image in after. A
// container that is new or gone is not among them: that replaces the pod.
func changedImages(before, after *corev1.Pod) []string {
	var names []string
	images := map[string]string{}
	for c := range node.Containers(&before.Spec) {
		images[c.Name] = c.Image
	}
	for c := range node.Containers(&after.Spec) {
		if image, ok := images[c.Name]; ok && image != c.Image {
			names = append(names, c.Name)
		}
	}
	return names
}
