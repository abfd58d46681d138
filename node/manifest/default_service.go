package manifest

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const defaultAffinity = 3 * 60 * 60 // seconds

// defaultService completes a service, but for the addresses and ports that the node gives it. Its addresses are of IPv4.
func defaultService(s *corev1.Service) {
	s.Status = corev1.ServiceStatus{}
	spec := &s.Spec
	setDefault(&spec.Type, corev1.ServiceTypeClusterIP)
	setDefault(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		setDefaultPtr(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		setDefaultPtr(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		setDefaultPtr(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, defaultAffinity)
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		setDefault(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	setDefaultPtr(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	setDefaultPtr(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if len(spec.ClusterIPs) == 0 && spec.ClusterIP != "" {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		setDefault(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		setDefaultPtr(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		setDefaultPtr(&s.Ports[i].Name, "")
		setDefaultPtr(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
