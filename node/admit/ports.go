package admit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// ports refuses a pod that wants a port of the host that another pod has.
func ports(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	wanted := hostPorts(pod)
	if len(wanted) == 0 {
		return nil
	}
	for _, other := range others {
		for _, has := range hostPorts(other) {
			for _, wants := range wanted {
				if wants.collides(has) {
					return predicate("NodePorts", fmt.Sprintf("pod %s has host port %s", node.KeyOf(other), has))
				}
			}
		}
	}
	return nil
}

// hostPort is a port of the host: at one address, or at all if it names none.
type hostPort struct {
	protocol corev1.Protocol
	ip       string
	port     int32
}

func (p hostPort) String() string {
	if p.ip == "" {
		return fmt.Sprintf("%d/%s", p.port, p.protocol)
	}
	return fmt.Sprintf("%s:%d/%s", p.ip, p.port, p.protocol)
}

func (p hostPort) collides(other hostPort) bool {
	return p.port == other.port && p.protocol == other.protocol &&
		(p.ip == other.ip || p.ip == "" || other.ip == "")
}

// hostPorts lists the host ports that a pod holds for as long as it runs.
func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for c := range node.LastingContainers(&pod.Spec) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			taken := hostPort{protocol: p.Protocol, ip: p.HostIP, port: p.HostPort}
			if taken.ip == "0.0.0.0" || taken.ip == "::" {
				taken.ip = ""
			}
			ports = append(ports, taken)
		}
	}
	return ports
}
