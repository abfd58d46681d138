package cri

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// podField is the value of a field of the pod, as far as containers may ask.
func podField(path string, in containerInput, machine Machine) (string, error) {
	pod := in.pod
	if value, ok := mapField(path, pod); ok {
		return value, nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return cmp.Or(pod.Spec.NodeName, machine.Name), nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return first(machine.IPs), nil
	case "status.hostIPs":
		return strings.Join(machine.IPs, ","), nil
	case "status.podIP":
		return first(in.podIPs), nil
	case "status.podIPs":
		return strings.Join(in.podIPs, ","), nil
	}
	return "", fmt.Errorf("field %q cannot be had here: %w", path, node.ErrInvalid)
}

// mapField reads metadata.labels['key'] and metadata.annotations['key'].
func mapField(path string, pod *corev1.Pod) (string, bool) {
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

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// resourceField is a request or limit of a container in units of the divisor,
// rounded up. A limit that is not set is what the node can give.
func resourceField(ref *corev1.ResourceFieldSelector, in containerInput, machine Machine) (string, error) {
	c := in.spec
	if ref.ContainerName != "" {
		var err error
		if c, err = specContainer(in.pod, ref.ContainerName); err != nil {
			return "", err
		}
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	resourceName := corev1.ResourceName(name)
	if !countable(resourceName) {
		return "", fmt.Errorf("resource %q cannot be had here: %w", ref.Resource, node.ErrInvalid)
	}
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = c.Resources.Requests[resourceName]
	case "limits":
		if quantity = c.Resources.Limits[resourceName]; quantity.IsZero() {
			quantity = machine.Allocatable[resourceName]
		}
	default:
		return "", fmt.Errorf("resource %q cannot be had here: %w", ref.Resource, node.ErrInvalid)
	}
	return divide(quantity, ref.Divisor, resourceName == corev1.ResourceCPU), nil
}

func countable(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
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
