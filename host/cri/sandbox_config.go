package cri

import (
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// sandboxConfig is what the runtime gets to know of a pod, and what the pod's
// owner should know of that.
func (r *Runtime) sandboxConfig(of *node.Pod, attempt uint32) (*runtimeapi.PodSandboxConfig, []notice, error) {
	if err := checkIsolation(of); err != nil {
		return nil, nil, err
	}
	pod := of.Object
	hostname, err := nameOf(pod, r.config.DNS.Domain).hostname(pod)
	if err != nil {
		return nil, nil, err
	}
	dns, notices, err := dnsConfig(pod, r.config.DNS)
	if err != nil {
		return nil, nil, err
	}
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt,
		},
		Hostname:     hostname,
		LogDirectory: podLogDir(r.config.PodLogsDir, node.KeyOf(pod), pod.UID),
		DnsConfig:    dns,
		PortMappings: portMappings(pod),
		Labels:       podLabels(pod),
		Annotations:  maps.Clone(pod.Annotations),
		Linux:        r.linuxSandbox(of),
	}, notices, nil
}

// portMappings are the ports that the pod wants to have on the host. On the
// host's network there is nothing to map.
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

// specContainer finds a container of the pod by name.
func specContainer(pod *corev1.Pod, name string) (*corev1.Container, error) {
	for c := range node.EveryContainer(&pod.Spec) {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, errors.New("the pod has no container " + name)
}

func (r *Runtime) linuxSandbox(pod *node.Pod) *runtimeapi.LinuxPodSandboxConfig {
	linux := &runtimeapi.LinuxPodSandboxConfig{
		CgroupParent:    r.config.CgroupParent(pod.Object),
		SecurityContext: sandboxSecurity(pod.Object),
		Sysctls:         sysctls(&pod.Object.Spec, r.config.Sysctls),
	}
	linux.SecurityContext.NamespaceOptions.UsernsOptions = userNamespace(pod.Users)
	return linux
}
