package rules

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of a slice.
const (
	mostEndpoints = 1000
	mostAddresses = 100
	mostPorts     = 20000
)

// EndpointSlice returns the rules that a defaulted EndpointSlice breaks.
func EndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	c := sliceCheck{&check{errs: metaOf(&s.ObjectMeta, true)}, s.AddressType}
	oneOf(c.check, field.NewPath("addressType"), s.AddressType,
		discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	at := field.NewPath("endpoints")
	if len(s.Endpoints) > mostEndpoints {
		c.errs = append(c.errs, field.TooMany(at, len(s.Endpoints), mostEndpoints))
		return c.errs
	}
	for i := range s.Endpoints {
		c.endpoint(&s.Endpoints[i], at.Index(i))
	}
	c.ports(s.Ports, field.NewPath("ports"))
	return c.errs
}

type sliceCheck struct {
	*check
	kind discoveryv1.AddressType
}

func (c sliceCheck) endpoint(e *discoveryv1.Endpoint, at *field.Path) {
	addresses := at.Child("addresses")
	switch {
	case len(e.Addresses) == 0:
		c.missing(addresses, "must contain at least 1 address")
	case len(e.Addresses) > mostAddresses:
		c.errs = append(c.errs, field.TooMany(addresses, len(e.Addresses), mostAddresses))
		return
	}
	for i, a := range e.Addresses {
		c.address(a, addresses.Index(i), addresses)
	}
	if e.Hostname != nil {
		c.badEach(at.Child("hostname"), *e.Hostname, validation.IsDNS1123Label(*e.Hostname))
	}
	if e.NodeName != nil {
		c.badEach(at.Child("nodeName"), *e.NodeName, validation.IsDNS1123Subdomain(*e.NodeName))
	}
}

// address checks an address, which may be none that every machine has for itself.
func (c sliceCheck) address(text string, at, of *field.Path) {
	switch c.kind {
	case discoveryv1.AddressTypeFQDN:
		c.badEach(at, text, validation.IsDNS1123Subdomain(text))
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
		ip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			c.bad(at, text, "must be a valid IP address, such as 10.9.8.7")
		case ip.Is4() != (c.kind == discoveryv1.AddressTypeIPv4):
			c.bad(of, text, "must be an address of "+string(c.kind))
		case ip.IsUnspecified() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast():
			c.bad(at, text, "may not be unspecified, of loopback or local to a link")
		}
	}
}

func (c sliceCheck) ports(ports []discoveryv1.EndpointPort, at *field.Path) {
	if len(ports) > mostPorts {
		c.errs = append(c.errs, field.TooMany(at, len(ports), mostPorts))
		return
	}
	names := map[string]bool{}
	for i, p := range ports {
		at := at.Index(i)
		if p.Name != nil {
			if *p.Name != "" {
				c.badEach(at.Child("name"), *p.Name, validation.IsDNS1123Label(*p.Name))
			}
			c.unique(at.Child("name"), names, *p.Name)
		}
		optionalOneOf(c.check, at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		if p.Port != nil {
			c.badEach(at.Child("port"), *p.Port, validation.IsValidPortNum(int(*p.Port)))
		}
		if p.AppProtocol != nil {
			c.badEach(at.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName(*p.AppProtocol))
		}
	}
}
