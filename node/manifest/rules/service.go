package rules

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Service returns the rules that a defaulted Service breaks.
func Service(s *corev1.Service) field.ErrorList {
	c := serviceCheck{&check{errs: namedMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSLabel)}, &s.Spec, field.NewPath("spec")}
	oneOf(c.check, c.at.Child("type"), s.Spec.Type,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName)
	c.errs = append(c.errs, metav1validation.ValidateLabels(s.Spec.Selector, c.at.Child("selector"))...)
	c.affinity()
	c.addresses()
	c.ports()
	c.traffic()
	c.ofBalancers()
	return c.errs
}

type serviceCheck struct {
	*check
	spec *corev1.ServiceSpec
	at   *field.Path
}

func (c serviceCheck) is(t corev1.ServiceType) bool { return c.spec.Type == t }

// headless reports whether the service has no address of its own.
func (c serviceCheck) headless() bool { return c.spec.ClusterIP == corev1.ClusterIPNone }

// reached reports whether the service is reached from other machines.
func (c serviceCheck) reached() bool {
	return c.is(corev1.ServiceTypeNodePort) || c.is(corev1.ServiceTypeLoadBalancer)
}

func (c serviceCheck) affinity() {
	oneOf(c.check, c.at.Child("sessionAffinity"), c.spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	config := c.spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return
	}
	const longest = 24 * 60 * 60
	c.between(c.at.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), int64(*config.ClientIP.TimeoutSeconds), 1, longest)
}

// addresses checks the names and addresses that clients use.
func (c serviceCheck) addresses() {
	ips := c.at.Child("clusterIPs")
	if c.is(corev1.ServiceTypeExternalName) {
		if len(c.spec.ClusterIPs) > 0 || c.spec.ClusterIP != "" {
			c.refused(ips, "may not be set for ExternalName services")
		}
		if len(c.spec.IPFamilies) > 0 {
			c.refused(c.at.Child("ipFamilies"), "may not be set for ExternalName services")
		}
		if c.spec.IPFamilyPolicy != nil {
			c.refused(c.at.Child("ipFamilyPolicy"), "may not be set for ExternalName services")
		}
		c.name(c.at.Child("externalName"), strings.TrimSuffix(c.spec.ExternalName, "."), validation.IsDNS1123Subdomain)
		return
	}
	c.families()
	if len(c.spec.ClusterIPs) > 0 && c.spec.ClusterIPs[0] != c.spec.ClusterIP {
		c.bad(ips, fmt.Sprint(c.spec.ClusterIPs), "first value must match `clusterIP`")
	}
	for i, ip := range c.spec.ClusterIPs {
		switch {
		case ip == corev1.ClusterIPNone && len(c.spec.ClusterIPs) > 1:
			c.bad(ips.Index(i), ip, "None must be the first and only value")
		case ip == corev1.ClusterIPNone && c.reached():
			c.bad(ips.Index(i), ip, "may not be set to 'None' for "+string(c.spec.Type)+" services")
		case ip != corev1.ClusterIPNone:
			c.address(ips.Index(i), ip)
		}
	}
	for i, ip := range c.spec.ExternalIPs {
		c.address(c.at.Child("externalIPs").Index(i), ip)
	}
}

func (c serviceCheck) address(at *field.Path, text string) {
	if _, err := netip.ParseAddr(text); err != nil {
		c.bad(at, text, "must be a valid IP address, such as 10.9.8.7")
	}
}

func (c serviceCheck) families() {
	optionalOneOf(c.check, c.at.Child("ipFamilyPolicy"), c.spec.IPFamilyPolicy,
		corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)
	seen := map[string]bool{}
	for i, family := range c.spec.IPFamilies {
		at := c.at.Child("ipFamilies").Index(i)
		oneOf(c.check, at, family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		c.unique(at, seen, string(family))
	}
}

// ports checks the ports, which a service with an address of its own has to have.
func (c serviceCheck) ports() {
	at := c.at.Child("ports")
	if len(c.spec.Ports) == 0 && !c.headless() && !c.is(corev1.ServiceTypeExternalName) {
		c.missing(at, "")
	}
	names, numbers, onNode := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range c.spec.Ports {
		p, at := &c.spec.Ports[i], at.Index(i)
		c.port(p, at)
		if p.Name == "" && len(c.spec.Ports) > 1 {
			c.missing(at.Child("name"), "")
		}
		if p.Name != "" {
			c.badEach(at.Child("name"), p.Name, validation.IsDNS1123Label(p.Name))
			c.unique(at.Child("name"), names, p.Name)
		}
		c.unique(at, numbers, fmt.Sprint(p.Port, "/", p.Protocol))
		switch {
		case p.NodePort == 0:
		case !c.reached():
			c.refused(at.Child("nodePort"), "may not be used when `type` is '"+string(c.spec.Type)+"'")
		default:
			c.unique(at.Child("nodePort"), onNode, fmt.Sprint(p.NodePort, "/", p.Protocol))
		}
	}
}

func (c serviceCheck) port(p *corev1.ServicePort, at *field.Path) {
	c.badEach(at.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))
	oneOf(c.check, at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	if p.TargetPort.Type == intstr.String {
		c.badEach(at.Child("targetPort"), p.TargetPort.StrVal, validation.IsValidPortName(p.TargetPort.StrVal))
	} else {
		c.badEach(at.Child("targetPort"), p.TargetPort.IntVal, validation.IsValidPortNum(int(p.TargetPort.IntVal)))
	}
	if p.AppProtocol != nil {
		c.badEach(at.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName(*p.AppProtocol))
	}
	const kubelet = 10250
	if c.is(corev1.ServiceTypeLoadBalancer) && p.Port == kubelet {
		c.bad(at.Child("port"), p.Port, "may not expose port 10250 externally since it is used by kubelet")
	}
}

func (c serviceCheck) traffic() {
	external := c.at.Child("externalTrafficPolicy")
	switch {
	case c.reached() || len(c.spec.ExternalIPs) > 0 && c.spec.ExternalTrafficPolicy != "":
		oneOf(c.check, external, c.spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	case c.spec.ExternalTrafficPolicy != "":
		c.bad(external, string(c.spec.ExternalTrafficPolicy), "may only be set for externally-accessible services")
	}
	if c.is(corev1.ServiceTypeExternalName) {
		return
	}
	optionalOneOf(c.check, c.at.Child("internalTrafficPolicy"), c.spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	optionalOneOf(c.check, c.at.Child("trafficDistribution"), c.spec.TrafficDistribution,
		corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)
}

// ofBalancers checks the fields that only load balancers have.
func (c serviceCheck) ofBalancers() {
	if c.is(corev1.ServiceTypeLoadBalancer) {
		if class := c.spec.LoadBalancerClass; class != nil {
			c.badEach(c.at.Child("loadBalancerClass"), *class, validation.IsQualifiedName(*class))
		}
		return
	}
	const only = "may only be used when `type` is 'LoadBalancer'"
	if c.spec.LoadBalancerClass != nil {
		c.refused(c.at.Child("loadBalancerClass"), only)
	}
	if c.spec.AllocateLoadBalancerNodePorts != nil {
		c.refused(c.at.Child("allocateLoadBalancerNodePorts"), only)
	}
	if len(c.spec.LoadBalancerSourceRanges) > 0 {
		c.refused(c.at.Child("loadBalancerSourceRanges"), only)
	}
}
