package rules

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NetworkPolicy returns the rules that a defaulted NetworkPolicy breaks.
func NetworkPolicy(policy *networkingv1.NetworkPolicy) field.ErrorList {
	c := policyCheck{&check{errs: metaOf(&policy.ObjectMeta, true)}}
	at, spec := field.NewPath("spec"), &policy.Spec
	c.selector(&spec.PodSelector, at.Child("podSelector"))
	for i, rule := range spec.Ingress {
		c.ports(rule.Ports, at.Child("ingress").Index(i).Child("ports"))
		c.peers(rule.From, at.Child("ingress").Index(i).Child("from"))
	}
	for i, rule := range spec.Egress {
		c.ports(rule.Ports, at.Child("egress").Index(i).Child("ports"))
		c.peers(rule.To, at.Child("egress").Index(i).Child("to"))
	}
	types := at.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		c.bad(types, len(spec.PolicyTypes), "may have two types at most")
		return c.errs
	}
	for i, t := range spec.PolicyTypes {
		oneOf(c.check, types.Index(i), t, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	}
	return c.errs
}

type policyCheck struct{ *check }

func (c policyCheck) selector(s *metav1.LabelSelector, at *field.Path) {
	c.errs = append(c.errs, metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, at)...)
}

func (c policyCheck) ports(ports []networkingv1.NetworkPolicyPort, at *field.Path) {
	for i, p := range ports {
		at := at.Index(i)
		optionalOneOf(c.check, at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		switch {
		case p.Port == nil && p.EndPort != nil:
			c.bad(at.Child("endPort"), *p.EndPort, "may not be given without port")
		case p.Port == nil:
		case p.Port.Type == intstr.String:
			c.badEach(at.Child("port"), p.Port.StrVal, validation.IsValidPortName(p.Port.StrVal))
			if p.EndPort != nil {
				c.refused(at.Child("endPort"), "may not be given with a named port")
			}
		default:
			c.badEach(at.Child("port"), p.Port.IntVal, validation.IsValidPortNum(int(p.Port.IntVal)))
			if p.EndPort != nil {
				c.endPort(*p.EndPort, p.Port.IntVal, at.Child("endPort"))
			}
		}
	}
}

func (c policyCheck) endPort(end, first int32, at *field.Path) {
	c.badEach(at, end, validation.IsValidPortNum(int(end)))
	if end < first {
		c.bad(at, end, "must not be less than port")
	}
}

func (c policyCheck) peers(peers []networkingv1.NetworkPolicyPeer, at *field.Path) {
	for i, p := range peers {
		at := at.Index(i)
		if p.PodSelector != nil {
			c.selector(p.PodSelector, at.Child("podSelector"))
		}
		if p.NamespaceSelector != nil {
			c.selector(p.NamespaceSelector, at.Child("namespaceSelector"))
		}
		selects := p.PodSelector != nil || p.NamespaceSelector != nil
		switch {
		case p.IPBlock == nil && !selects:
			c.missing(at, "must be a podSelector, a namespaceSelector or an ipBlock")
		case p.IPBlock != nil && selects:
			c.refused(at, "may not have both an ipBlock and a selector")
		case p.IPBlock != nil:
			c.block(p.IPBlock, at.Child("ipBlock"))
		}
	}
}

func (c policyCheck) block(b *networkingv1.IPBlock, at *field.Path) {
	if b.CIDR == "" {
		c.missing(at.Child("cidr"), "")
		return
	}
	whole, ok := c.cidr(b.CIDR, at.Child("cidr"))
	for i, text := range b.Except {
		at := at.Child("except").Index(i)
		except, is := c.cidr(text, at)
		if ok && is && (!whole.Contains(except.Addr()) || except.Bits() <= whole.Bits()) {
			c.bad(at, text, "must lie within cidr, and be smaller")
		}
	}
}

func (c policyCheck) cidr(text string, at *field.Path) (p netip.Prefix, ok bool) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		c.bad(at, text, "must be a block of addresses, such as 192.0.2.0/24 or 2001:db8::/64")
	}
	return p, err == nil
}
