package intake

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest/rules"
	"nodal/node/store"
)

// Services says how the node serves Services. The zero value takes all of them.
type Services struct {
	Without func() string                            // why it does not; "" if it does. nil means that it does
	Subnet  func() netip.Prefix                      // of their addresses
	Busy    func(p corev1.Protocol, port int32) bool // reports a port that a program of the machine has
}

// The ports of the machine that services may have, as Kubernetes has them by default.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// reservedAddresses are the first ones of the subnet, which Kubernetes' tools give to services of their own.
const reservedAddresses = 16

// anySubnet is for a node that has not said which one it uses.
var anySubnet = netip.MustParsePrefix("10.96.0.0/16")

func (s Services) subnet() netip.Prefix {
	if s.Subnet == nil {
		return anySubnet
	}
	return s.Subnet()
}

// permittedService refuses services and endpoints that nothing would lead to.
func (in Intake) permittedService(d Delivery) error {
	kind := d.Object.Kind
	if kind != node.Service && kind != node.EndpointSlice || in.Services.Without == nil {
		return nil
	}
	if why := in.Services.Without(); why != "" {
		return fmt.Errorf("%s: %s: %w", d.Object.Ref(), why, node.ErrUnsupported)
	}
	return nil
}

// serve gives a service the addresses and ports that it lacks, and refuses those that it cannot have. It adds to
// the warnings.
func (in Intake) serve(tx *store.Tx, d Delivery, next, old *node.Object, warnings []string) ([]string, error) {
	s := node.As[*corev1.Service](next)
	if s == nil {
		return warnings, nil
	}
	a := allocator{Services: in.Services, tx: tx, d: d, next: s, ips: map[string]bool{}, ports: map[int32]bool{}}
	if old != nil {
		a.old = node.As[*corev1.Service](old)
	}
	for _, o := range tx.Objects(node.Service) {
		if o.Ref() != next.Ref() {
			a.take(node.As[*corev1.Service](o))
		}
	}
	for _, step := range []func() error{a.plain, a.address, a.nodePorts, a.judge} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return append(warnings, a.warnings()...), nil
}

// allocator finds what one service lacks.
type allocator struct {
	Services
	tx        *store.Tx
	d         Delivery
	next, old *corev1.Service // the old one may be nil
	ips       map[string]bool // of other services
	ports     map[int32]bool  // and theirs of the machine
}

func (a *allocator) take(other *corev1.Service) {
	a.ips[other.Spec.ClusterIP] = true
	for _, p := range other.Spec.Ports {
		a.ports[p.NodePort] = true
	}
}

// plain refuses what the node does not have.
func (a *allocator) plain() error {
	spec := &a.next.Spec
	for i, family := range spec.IPFamilies {
		if family != corev1.IPv4Protocol {
			return invalid(a.d, fmt.Sprintf("spec.ipFamilies[%d]", i), "not configured on this node: its services have addresses of IPv4")
		}
	}
	switch policy := spec.IPFamilyPolicy; {
	case policy != nil && *policy == corev1.IPFamilyPolicyRequireDualStack:
		return invalid(a.d, "spec.ipFamilyPolicy", "this node is not configured for dual-stack services")
	case len(spec.ExternalIPs) > 0:
		return invalid(a.d, "spec.externalIPs", "the node does not take packets for addresses of others; use type NodePort")
	}
	return nil
}

// address keeps the address of a service, or gives it one.
func (a *allocator) address() error {
	spec := &a.next.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if len(spec.ClusterIPs) > 1 {
		return invalid(a.d, "spec.clusterIPs[1]", "the node gives one address, of IPv4")
	}
	const at = "spec.clusterIPs[0]"
	had := ""
	if a.old != nil && !headlessBefore(&a.old.Spec, spec) {
		had = a.old.Spec.ClusterIP
	}
	if named := node.As[*corev1.Service](a.d.Object).Spec.ClusterIP; named == "" && a.outside(had) {
		had, spec.ClusterIP = "", ""
	}
	switch ip := spec.ClusterIP; {
	case had != "" && ip != had:
		return invalid(a.d, at, "may not change once set")
	case ip == corev1.ClusterIPNone || ip != "" && ip == had:
	case ip != "":
		if why := a.unfit(ip); why != "" {
			return invalid(a.d, at, "failed to allocate IP "+ip+": "+why)
		}
	default:
		found := a.free()
		if found == "" {
			return invalid(a.d, at, fmt.Sprintf("failed to allocate an IP: all addresses of %s are taken", a.subnet()))
		}
		spec.ClusterIP = found
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	return nil
}

// outside reports an address from before the subnet was another one.
func (a *allocator) outside(had string) bool {
	ip, err := netip.ParseAddr(had)
	return err == nil && !a.subnet().Contains(ip)
}

// unfit says why an address cannot be a service's.
func (a *allocator) unfit(text string) string {
	subnet := a.subnet()
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil || !subnet.Contains(ip) || ip == subnet.Addr() || offset(subnet, ip) < reservedAddresses:
		return fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s, without the first %d",
			text, subnet, reservedAddresses)
	case a.ips[ip.String()]:
		return "provided IP is already allocated"
	}
	return ""
}

// free finds an address by the name of the service: one that comes back gets what it had, if it can.
func (a *allocator) free() string {
	subnet := a.subnet()
	count := uint32(1)<<(32-subnet.Bits()) - reservedAddresses - 1 // the last one is for broadcasts
	first := a.hash() % count
	for i := range count {
		ip := nth(subnet, reservedAddresses+(first+i)%count).String()
		if !a.ips[ip] {
			return ip
		}
	}
	return ""
}

func (a *allocator) hash() uint32 {
	sum := fnv.New32a()
	fmt.Fprint(sum, a.next.Namespace, "/", a.next.Name)
	return sum.Sum32()
}

func number(ip netip.Addr) uint32 {
	b := ip.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func offset(subnet netip.Prefix, ip netip.Addr) uint32 { return number(ip) - number(subnet.Addr()) }

func nth(subnet netip.Prefix, n uint32) netip.Addr {
	at := number(subnet.Addr()) + n
	return netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)})
}

// nodePorts keeps the ports of the machine that a service has, and gives it those that it lacks.
func (a *allocator) nodePorts() error {
	spec := &a.next.Spec
	given := spec.AllocateLoadBalancerNodePorts
	wants := spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer && (given == nil || *given)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.NodePort == 0 || a.has(p) {
			continue
		}
		if why := a.unfitPort(p); why != "" {
			return invalid(a.d, fmt.Sprintf("spec.ports[%d].nodePort", i), why)
		}
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.NodePort != 0 || !wants {
			continue
		}
		if p.NodePort = a.freePort(p.Protocol); p.NodePort == 0 {
			return invalid(a.d, fmt.Sprintf("spec.ports[%d].nodePort", i), "failed to allocate a nodePort: all of them are taken")
		}
	}
	return nil
}

// judge refuses a service that breaks a rule with what it was given.
func (a *allocator) judge() error {
	var wrong []node.Violation
	for _, e := range rules.Service(a.next) {
		wrong = append(wrong, broken(e.Field, e.ErrorBody())...)
	}
	if len(wrong) > 0 {
		return refusal(a.d, wrong)
	}
	return nil
}

// has reports whether the service had a port of the machine before.
func (a *allocator) has(port *corev1.ServicePort) bool {
	return a.old != nil && names(a.old.Spec.Ports, port.NodePort, port.Protocol)
}

// names reports whether one of the ports has a port of the machine.
func names(ports []corev1.ServicePort, onNode int32, protocol corev1.Protocol) bool {
	return slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.NodePort == onNode && p.Protocol == protocol })
}

// headlessBefore reports whether a service gets its first address by a change of its type.
func headlessBefore(was, is *corev1.ServiceSpec) bool {
	return was.ClusterIP == corev1.ClusterIPNone && is.Type != corev1.ServiceTypeClusterIP
}

func (a *allocator) unfitPort(p *corev1.ServicePort) string {
	switch {
	case p.NodePort < firstNodePort || p.NodePort > lastNodePort:
		return fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
	case a.ports[p.NodePort]:
		return "provided port is already allocated"
	case a.busy(p.Protocol, p.NodePort):
		return "provided port is already allocated: a program of the machine or a pod's host port has it"
	}
	return ""
}

// busy reports whether a pod or a program has a port of the machine.
func (a *allocator) busy(protocol corev1.Protocol, port int32) bool {
	for _, slot := range a.tx.All() {
		if slot.Result != nil {
			continue
		}
		for c := range node.Containers(&slot.Pod.Object.Spec) {
			if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort == port && p.Protocol == protocol }) {
				return true
			}
		}
	}
	return a.Busy != nil && a.Busy(protocol, port)
}

// freePort finds a port by the name of the service.
func (a *allocator) freePort(protocol corev1.Protocol) int32 {
	const count = lastNodePort - firstNodePort + 1
	first := int32(a.hash() % count)
	for i := range int32(count) {
		port := firstNodePort + (first+i)%count
		own := slices.ContainsFunc(a.next.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
		if !own && !a.ports[port] && !a.busy(protocol, port) {
			return port
		}
	}
	return 0
}

// warnings says what has no effect.
func (a *allocator) warnings() (all []string) {
	spec := &a.next.Spec
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		all = append(all, "spec.type: the node has no load balancer, so the service gets no address of one; it is reached as a NodePort")
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		all = append(all, "spec.sessionAffinityConfig.clientIP.timeoutSeconds: a client stays with its pod as long as that is ready")
	}
	return all
}

// continueService keeps the address and the ports of a service that a manifest does not name.
func continueService(old, next *corev1.Service) {
	next.Status = old.Status
	was, is := &old.Spec, &next.Spec
	if is.Type == corev1.ServiceTypeExternalName || was.Type == corev1.ServiceTypeExternalName {
		return
	}
	if is.ClusterIP == "" && !headlessBefore(was, is) {
		is.ClusterIP, is.ClusterIPs = was.ClusterIP, was.ClusterIPs
	}
	if is.Type == corev1.ServiceTypeClusterIP {
		return
	}
	for i := range is.Ports {
		p := &is.Ports[i]
		same := func(o corev1.ServicePort) bool { return o.Port == p.Port && o.Protocol == p.Protocol }
		at := slices.IndexFunc(was.Ports, same)
		if at >= 0 && p.NodePort == 0 && !names(is.Ports, was.Ports[at].NodePort, p.Protocol) {
			p.NodePort = was.Ports[at].NodePort
		}
	}
}
