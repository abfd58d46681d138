package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"nodal/node"
)

// amount reports whether a path leads to an amount of CPU or memory, of a container or of the pod
// as a whole.
func amount(path string) bool {
	switch shape(path) {
	case "spec.resources.limits[]", "spec.resources.requests[]",
		"spec.containers[].resources.limits[]", "spec.containers[].resources.requests[]",
		"spec.initContainers[].resources.limits[]", "spec.initContainers[].resources.requests[]":
		return strings.HasSuffix(path, "[cpu]") || strings.HasSuffix(path, "[memory]")
	}
	return false
}

// resizable reports whether running containers can take other amounts: no amount is dropped. An init container that has
// ended has no use for them.
func resizable(before, after *corev1.Pod) bool {
	if was, is := before.Spec.Resources, after.Spec.Resources; was != nil && (is == nil || !keeps(was.Limits, is.Limits) || !keeps(was.Requests, is.Requests)) {
		return false
	}
	old := map[string]*corev1.Container{}
	for c := range node.Containers(&before.Spec) {
		old[c.Name] = c
	}
	for c := range node.Containers(&after.Spec) {
		was, ok := old[c.Name]
		if !ok || !keeps(was.Resources.Limits, c.Resources.Limits) || !keeps(was.Resources.Requests, c.Resources.Requests) {
			return false
		}
	}
	return true
}

func keeps(before, after corev1.ResourceList) bool {
	for name := range before {
		if _, ok := after[name]; !ok {
			return false
		}
	}
	return true
}

// RestartedBy names the containers that get other resources only with their next
// run, because their resize policy says so.
func RestartedBy(before, after *corev1.Pod) []string {
	old := map[string]corev1.ResourceRequirements{}
	for c := range node.Containers(&before.Spec) {
		old[c.Name] = c.Resources
	}
	var names []string
	for c := range node.Containers(&after.Spec) {
		was, ok := old[c.Name]
		if ok && slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
			return p.RestartPolicy == corev1.RestartContainer && changes(was, c.Resources, p.ResourceName)
		}) {
			names = append(names, c.Name)
		}
	}
	return names
}

func changes(before, after corev1.ResourceRequirements, name corev1.ResourceName) bool {
	differs := func(a, b corev1.ResourceList) bool { return !equality.Semantic.DeepEqual(a[name], b[name]) }
	return differs(before.Limits, after.Limits) || differs(before.Requests, after.Requests)
}
