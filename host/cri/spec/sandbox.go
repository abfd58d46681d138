package spec

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Sandbox is a sandbox that is about to be made.
type Sandbox struct {
	Pod          *node.Pod
	Attempt      uint32
	Logs         string                // the directory of all pods' logs
	CgroupParent string                // empty leaves the choice to the runtime
	HostDNS      *runtimeapi.DNSConfig // the host's, which pods inherit; nil leaves them nothing
}

// Sandbox translates a sandbox. It returns notices about what the pod does not get in full.
func (n Node) Sandbox(s Sandbox) (*runtimeapi.PodSandboxConfig, []Notice, error) {
	if err := checkIsolation(s.Pod); err != nil {
		return nil, nil, err
	}
	pod := s.Pod.Object
	hostname, err := nameOf(pod, n.DNS.Domain).hostname(pod)
	if err != nil {
		return nil, nil, err
	}
	dns, notices := podDNS(pod, n.DNS, s.HostDNS)
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: s.Attempt,
		},
		Hostname:     hostname,
		LogDirectory: LogDir(s.Logs, node.KeyOf(pod), pod.UID),
		DnsConfig:    dns,
		PortMappings: portMappings(pod),
		Labels:       podLabels(pod),
		Annotations:  maps.Clone(pod.Annotations),
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent:    s.CgroupParent,
			SecurityContext: sandboxSecurity(s.Pod),
			Sysctls:         sysctls(&pod.Spec, n.Sysctls),
		},
	}, notices, nil
}

// checkIsolation refuses what a runtime would ignore in silence: a pod that asks for a wall must not run without it.
func checkIsolation(pod *node.Pod) error {
	if node.HasOwnUsers(pod.Object) && pod.Users == nil {
		return fmt.Errorf("a user namespace (hostUsers: false) for which no users were set aside: %w", node.ErrUnsupported)
	}
	return nil
}

// portMappings returns the ports that the pod wants to have on the host. On the host's network there is nothing to map.
func portMappings(pod *corev1.Pod) []*runtimeapi.PortMapping {
	if pod.Spec.HostNetwork {
		return nil
	}
	var mappings []*runtimeapi.PortMapping
	for c := range node.LastingContainers(&pod.Spec) {
		for _, port := range c.Ports {
			if port.HostPort == 0 {
				continue
			}
			mappings = append(mappings, &runtimeapi.PortMapping{
				Protocol:      protocol(port.Protocol),
				ContainerPort: port.ContainerPort,
				HostPort:      port.HostPort,
				HostIp:        port.HostIP,
			})
		}
	}
	return mappings
}

func protocol(p corev1.Protocol) runtimeapi.Protocol {
	switch p {
	case corev1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case corev1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	}
	return runtimeapi.Protocol_TCP
}
