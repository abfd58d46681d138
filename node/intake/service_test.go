package intake

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
)

// service posts a service, and returns what is kept of it.
func (b *bench) service(name, spec string) (*corev1.Service, error) {
	b.t.Helper()
	docs, err := manifest.Decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: "+name+"}\nspec: {"+spec+"}\n"), manifest.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, _, err = b.in.Apply([]Delivery{{Object: docs[0].Object}}, b.now); err != nil {
		return nil, err
	}
	kept, _ := b.in.Store.Object(node.ObjectRef{Kind: node.Service, Namespace: "default", Name: name})
	return node.As[*corev1.Service](kept), nil
}

func TestServicesKeepTheAddressesThatTheyGot(t *testing.T) {
	b := newBench(t)
	first, err := b.service("a", "type: NodePort, ports: [{port: 80}]")
	if err != nil || first.Spec.ClusterIP == "" || first.Spec.ClusterIPs[0] != first.Spec.ClusterIP || first.Spec.Ports[0].NodePort < firstNodePort {
		t.Fatalf("a service got %+v (%v)", first, err)
	}
	again, err := b.service("a", "type: NodePort, selector: {app: a}, ports: [{name: one, port: 80}, {name: more, port: 81}]")
	if err != nil || again.Spec.ClusterIP != first.Spec.ClusterIP || again.Spec.Ports[0].NodePort != first.Spec.Ports[0].NodePort ||
		again.Spec.Ports[1].NodePort == again.Spec.Ports[0].NodePort || again.Spec.Ports[1].NodePort == 0 {
		t.Errorf("the changed service has %+v (%v), want the address and port of %+v", again, err, first)
	}
	ref := node.ObjectRef{Kind: node.Service, Namespace: "default", Name: "a"}
	if err := b.in.DeleteObject(ref, b.now); err != nil {
		t.Fatal(err)
	}
	if back, err := b.service("a", "type: NodePort, ports: [{port: 80}]"); err != nil || back.Spec.ClusterIP != first.Spec.ClusterIP {
		t.Errorf("the service came back with %+v (%v), want %s", back, err, first.Spec.ClusterIP)
	}
	if headless, err := b.service("h", "clusterIP: None"); err != nil || headless.Spec.ClusterIPs[0] != "None" {
		t.Errorf("a headless service is %+v (%v)", headless, err)
	}
}

func TestAPortThatMovesWithinAServiceIsGivenOnce(t *testing.T) {
	b := newBench(t)
	if _, err := b.service("a", "type: NodePort, ports: [{port: 80, nodePort: 30080}]"); err != nil {
		t.Fatal(err)
	}
	moved, err := b.service("a", "type: NodePort, ports: [{name: a, port: 80}, {name: b, port: 81, nodePort: 30080}]")
	if err != nil || moved.Spec.Ports[1].NodePort != 30080 || moved.Spec.Ports[0].NodePort < firstNodePort || moved.Spec.Ports[0].NodePort == 30080 {
		t.Errorf("the port moved to %+v (%v)", moved, err)
	}
}

func TestAPortOfOneProtocolIsNotHadForAnother(t *testing.T) {
	b := newBench(t)
	b.in.Services.Busy = func(p corev1.Protocol, _ int32) bool { return p == "UDP" }
	if _, err := b.service("a", "type: NodePort, ports: [{port: 80, nodePort: 30080}]"); err != nil {
		t.Fatal(err)
	}
	_, err := b.service("a", "type: NodePort, ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 80, protocol: UDP, nodePort: 30080}]")
	if err == nil || !strings.Contains(err.Error(), "spec.ports[1].nodePort: provided port is already allocated") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestAHeadlessServiceOfAnotherTypeGetsAnAddress(t *testing.T) {
	b := newBench(t)
	for _, spec := range []string{"clusterIP: None", "clusterIP: None, ports: [{port: 80}]", "ports: [{port: 80}]"} {
		if s, err := b.service("a", spec); err != nil || s.Spec.ClusterIP != "None" {
			t.Fatalf("%s: got %+v (%v)", spec, s, err)
		}
	}
	s, err := b.service("a", "type: NodePort, ports: [{port: 80}]")
	if err != nil || !anySubnet.Contains(netip.MustParseAddr(s.Spec.ClusterIP)) || s.Spec.ClusterIPs[0] != s.Spec.ClusterIP {
		t.Errorf("got %+v (%v), want an address", s, err)
	}
}

func TestAServiceGetsAnAddressOfANewSubnet(t *testing.T) {
	b, subnet := newBench(t), netip.MustParsePrefix("10.200.0.0/16")
	first, err := b.service("a", "ports: [{port: 80}]")
	if err != nil {
		t.Fatal(err)
	}
	b.in.Services.Subnet = func() netip.Prefix { return subnet }
	if same, err := b.service("a", "clusterIP: "+first.Spec.ClusterIP+", selector: {a: b}, ports: [{port: 80}]"); err != nil || same.Spec.ClusterIP != first.Spec.ClusterIP {
		t.Errorf("one that names its address has %+v (%v)", same, err)
	}
	if next, err := b.service("a", "ports: [{port: 80}]"); err != nil || !subnet.Contains(netip.MustParseAddr(next.Spec.ClusterIP)) {
		t.Errorf("got %+v (%v), want an address of %s", next, err, subnet)
	}
}

func TestAServiceIsJudgedWithWhatItKeeps(t *testing.T) {
	taken := []corev1.ServicePort{{Name: "a", Port: 80, Protocol: "TCP", NodePort: 30080}, {Name: "b", Port: 81, Protocol: "TCP", NodePort: 30080}}
	s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.96.0.99", Ports: taken}}
	s.Name, s.Namespace = "b", "default"
	a := allocator{next: s, d: Delivery{Object: node.NewObject(s)}}
	if err := a.judge(); err == nil || !strings.Contains(err.Error(), "spec.ports[1].nodePort") {
		t.Errorf("one port for two: got %v", err)
	}
}

func TestEveryServiceHasItsOwnAddress(t *testing.T) {
	b := newBench(t)
	seen, ports := map[string]bool{}, map[int32]bool{}
	for _, name := range strings.Fields("a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 k1 l1 m1 n1 o1 p1 q1 r1 s1 t1 u1 v1 w1 x1 y1 z1") {
		s, err := b.service(name, "type: NodePort, ports: [{port: 80}]")
		if err != nil {
			t.Fatal(err)
		}
		if seen[s.Spec.ClusterIP] || ports[s.Spec.Ports[0].NodePort] {
			t.Errorf("%s has the address or the port of another: %+v", name, s.Spec)
		}
		seen[s.Spec.ClusterIP], ports[s.Spec.Ports[0].NodePort] = true, true
	}
}

func TestServicesAreRefusedWhatTheyCannotHave(t *testing.T) {
	b := newBench(t)
	b.in.Services.Busy = func(p corev1.Protocol, port int32) bool { return p == "TCP" && port == 31000 }
	if _, err := b.service("a", "type: NodePort, clusterIP: 10.96.0.99, ports: [{port: 80, nodePort: 30080}]"); err != nil {
		t.Fatal(err)
	}
	taken := pod("host", "app:1", func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 30090, Protocol: "TCP"}}
	})
	if _, _, err := b.in.Apply([]Delivery{{Pod: taken}}, b.now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, spec, want string }{
		{"the address of another", "clusterIP: 10.96.0.99, ports: [{port: 80}]", "spec.clusterIPs[0]: failed to allocate IP 10.96.0.99: provided IP is already allocated"},
		{"an address of others", "clusterIP: 192.0.2.1, ports: [{port: 80}]", "is not in the valid range. The range of valid IPs is 10.96.0.0/16"},
		{"a reserved address", "clusterIP: 10.96.0.10, ports: [{port: 80}]", "is not in the valid range"},
		{"the port of another", "type: NodePort, ports: [{port: 80, nodePort: 30080}]", "spec.ports[0].nodePort: provided port is already allocated"},
		{"the port of a program", "type: NodePort, ports: [{port: 80, nodePort: 31000}]", "a program of the machine"},
		{"the port of a pod", "type: NodePort, ports: [{port: 80, nodePort: 30090}]", "a pod's host port"},
		{"a low port", "type: NodePort, ports: [{port: 80, nodePort: 80}]", "The range of valid ports is 30000-32767"},
		{"another family", "ipFamilies: [IPv6], ports: [{port: 80}]", "spec.ipFamilies[0]: not configured"},
		{"two families", "ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]", "spec.ipFamilyPolicy"},
		{"an address outside", "externalIPs: [192.0.2.1], ports: [{port: 80}]", "spec.externalIPs"},
	} {
		if _, err := b.service("other", c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := b.service("a", "type: NodePort, clusterIP: 10.96.0.98, ports: [{port: 80}]"); err == nil || !strings.Contains(err.Error(), "may not change once set") {
		t.Errorf("another address: got %v", err)
	}
	b.in.Services.Without = func() string { return "a cluster has them" }
	if _, err := b.service("late", "ports: [{port: 80}]"); err == nil || !strings.Contains(err.Error(), "a cluster has them") {
		t.Errorf("on a node without services: got %v", err)
	}
}
