package cri

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/downward"
)

// podField is the value of a field of the pod, as far as containers may ask.
func podField(path string, in containerInput, machine Machine) (string, error) {
	pod := in.pod
	switch path {
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
	if value, ok := downward.Field(pod, path); ok {
		return value, nil
	}
	return "", fmt.Errorf("field %q cannot be had here: %w", path, node.ErrInvalid)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// resourceField is a request or limit of a container of the pod, by default of the
// one that asks.
func resourceField(ref *corev1.ResourceFieldSelector, in containerInput, machine Machine) (string, error) {
	c := in.spec
	if ref.ContainerName != "" {
		var err error
		if c, err = specContainer(in.pod, ref.ContainerName); err != nil {
			return "", err
		}
	}
	return downward.Resource(c, ref, machine.Allocatable)
}
