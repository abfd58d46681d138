// Package downward reads a pod's facts about itself from its manifest: the fields and
// resources of Kubernetes' downward API, which containers get in their environment and as
// files. Facts that only the machine knows, such as the pod's addresses, are not here.
package downward

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// Field returns the value of a field of the pod's metadata, such as metadata.name or
// metadata.labels['key']; false for any other.
func Field(pod *corev1.Pod, path string) (string, bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "metadata.labels":
		return lines(pod.Labels), true
	case "metadata.annotations":
		return lines(pod.Annotations), true
	}
	name, subscript, found := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(subscript, "']")
	switch {
	case !found || !closed:
		return "", false
	case name == "metadata.labels":
		return pod.Labels[key], true
	case name == "metadata.annotations":
		return pod.Annotations[key], true
	}
	return "", false
}

// lines writes one line for each key, as Kubernetes writes maps into files.
func lines(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s=%q", key, m[key]))
	}
	return strings.Join(all, "\n")
}

// Resource returns a request or limit of a container in units of the divisor, rounded up. For a
// limit that is not set it returns what the node can give.
func Resource(c *corev1.Container, ref *corev1.ResourceFieldSelector, allocatable corev1.ResourceList) (string, error) {
	kind, text, _ := strings.Cut(ref.Resource, ".")
	name := corev1.ResourceName(text)
	var quantity resource.Quantity
	switch {
	case !countable(name):
		return "", unknown(ref)
	case kind == "requests":
		quantity = c.Resources.Requests[name]
	case kind == "limits":
		if quantity = c.Resources.Limits[name]; quantity.IsZero() {
			quantity = allocatable[name]
		}
	default:
		return "", unknown(ref)
	}
	return divide(quantity, ref.Divisor, name == corev1.ResourceCPU), nil
}

func unknown(ref *corev1.ResourceFieldSelector) error {
	return fmt.Errorf("resource %q cannot be had here: %w", ref.Resource, node.ErrInvalid)
}

func countable(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return node.IsHugePages(name)
}

// divide counts CPUs in thousandths, since half a CPU is a fair divisor.
func divide(quantity, divisor resource.Quantity, milli bool) string {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	a, b := float64(quantity.Value()), float64(divisor.Value())
	if milli {
		a, b = float64(quantity.MilliValue()), float64(divisor.MilliValue())
	}
	return strconv.FormatInt(int64(math.Ceil(a/b)), 10)
}
