package spec

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/downward"
)

// podField looks up a field of the pod that containers may ask for.
func (m Machine) podField(path string, run Run) (string, error) {
	pod := run.Allocated
	switch path {
	case "spec.nodeName":
		return cmp.Or(pod.Spec.NodeName, m.Name), nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return first(m.IPs), nil
	case "status.hostIPs":
		return strings.Join(m.IPs, ","), nil
	case "status.podIP":
		return first(run.IPs), nil
	case "status.podIPs":
		return strings.Join(run.IPs, ","), nil
	}
	if value, ok := downward.Field(pod, path); ok {
		return value, nil
	}
	return "", fmt.Errorf("field %q is not available to containers: %w", path, node.ErrInvalid)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// resourceField looks up a request or limit of a container of the pod, by default of the one that asks.
func (m Machine) resourceField(ref *corev1.ResourceFieldSelector, run Run) (string, error) {
	c := run.Container
	if ref.ContainerName != "" {
		var err error
		if c, err = findContainer(run.Allocated, ref.ContainerName); err != nil {
			return "", err
		}
	}
	return downward.Resource(c, ref, m.Allocatable)
}
