package service

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

func service(name, address string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{}
	s.Namespace, s.Name, s.Spec.ClusterIP = "default", name, address
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}}
	for _, c := range change {
		c(s)
	}
	return s
}

func endpoint(address string, ready, serving bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving},
		TargetRef: &corev1.ObjectReference{UID: types.UID(address)},
	}
}

func slice(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints}
	s.Namespace, s.Labels = "default", map[string]string{discoveryv1.LabelServiceName: name}
	s.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}}
	return s
}

func TestAPortLeadsToWhatIsReady(t *testing.T) {
	one, two, three := endpoint("10.89.0.2", true, true), endpoint("10.89.0.3", true, true), endpoint("10.89.0.4", false, false)
	for _, c := range []struct {
		name  string
		all   []discoveryv1.Endpoint
		going []types.UID
		away  types.UID
		want  []string
	}{
		{"two that are ready", []discoveryv1.Endpoint{two, one, three}, nil, "", []string{"10.89.0.2:8080", "10.89.0.3:8080"}},
		{"one that goes", []discoveryv1.Endpoint{one, two}, []types.UID{"10.89.0.2"}, "", []string{"10.89.0.3:8080"}},
		{"all go, and serve", []discoveryv1.Endpoint{one, two}, []types.UID{"10.89.0.2", "10.89.0.3"}, "", []string{"10.89.0.2:8080", "10.89.0.3:8080"}},
		{"all go, and one is away", []discoveryv1.Endpoint{one, two}, []types.UID{"10.89.0.2", "10.89.0.3"}, "10.89.0.2", []string{"10.89.0.3:8080"}},
		{"none serves", []discoveryv1.Endpoint{three}, nil, "", nil},
	} {
		ports := Compile(Objects{
			Services: []*corev1.Service{service("web", "10.96.0.20")}, Slices: []*discoveryv1.EndpointSlice{slice("web", c.all...), slice("other", one)},
			Going: func(uid types.UID) (going, away bool) { return slices.Contains(c.going, uid), uid == c.away },
		})
		var got []string
		for _, b := range ports[0].Backends {
			got = append(got, b.String())
		}
		if len(ports) != 1 || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, ports, c.want)
		}
	}
}

func TestServicesWithoutAnAddressHaveNoPorts(t *testing.T) {
	got := Compile(Objects{Services: []*corev1.Service{
		service("headless", "None"), service("named", "", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }),
	}})
	if len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTheTableLooksServicesUp(t *testing.T) {
	place := Place{Table: "nodal-x-services", Subnet: netip.MustParsePrefix("10.96.0.0/22")}
	got := Table(place, Compile(Objects{
		Services: []*corev1.Service{
			service("web", "10.96.0.20"), service("empty", "10.96.0.21"),
			service("stays", "10.96.0.22", func(s *corev1.Service) {
				s.Spec.SessionAffinity, s.Spec.Ports[0].NodePort = corev1.ServiceAffinityClientIP, 0
			}),
		},
		Slices: []*discoveryv1.EndpointSlice{slice("web", endpoint("10.89.0.2", true, true), endpoint("10.89.0.3", true, true)), slice("stays", endpoint("10.89.0.2", true, true))},
	})).String()
	for _, want := range []string{
		"    10.96.0.20 . 6 . 80 : jump port-1\n    10.96.0.22 . 6 . 80 : jump port-2\n  }\n", "    6 . 30080 : jump port-1\n  }\n",
		"    0 : 10.89.0.2 . 8080\n    1 : 10.89.0.3 . 8080\n    2 : 10.89.0.2 . 8080\n",
		"dnat ip to numgen random mod 2 offset 0 map @backends", "dnat ip to jhash ip saddr mod 128 offset 2 map @backends",
		"ip daddr 10.96.0.0/22 meta l4proto 6 reject with tcp reset\n    ip daddr 10.96.0.0/22 reject",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table is\n%s\nwithout\n%s", got, want)
		}
	}
}

func TestTheTableHasEachKeyOnce(t *testing.T) {
	to := []netip.AddrPort{netip.MustParseAddrPort("10.89.0.2:8080")}
	at := func(text string) Port {
		return Port{At: netip.MustParseAddrPort(text), Protocol: 6, OnNode: 30080, Backends: to}
	}
	got := Table(Place{Table: "x", Subnet: netip.MustParsePrefix("10.96.0.0/22")}, []Port{
		at("10.96.0.20:80"), at("10.96.0.20:80"), at("10.96.0.20:81"),
	}).String()
	for _, key := range []string{"10.96.0.20 . 6 . 80 :", "10.96.0.20 . 6 . 81 :", "    6 . 30080 :"} {
		if strings.Count(got, key) != 1 {
			t.Errorf("the table has %q %d times:\n%s", key, strings.Count(got, key), got)
		}
	}
}

func TestAnAddressOfAnEarlierSubnetIsLeftToOthers(t *testing.T) {
	to := []netip.AddrPort{netip.MustParseAddrPort("10.89.0.2:8080")}
	got := Table(Place{Table: "x", Subnet: netip.MustParsePrefix("10.200.0.0/16")}, []Port{
		{At: netip.MustParseAddrPort("10.96.0.20:80"), Protocol: 6, OnNode: 30080, Backends: to},
		{At: netip.MustParseAddrPort("10.96.0.21:80"), Protocol: 6, Backends: to},
	}).String()
	if strings.Contains(got, "10.96.0.") || !strings.Contains(got, "    6 . 30080 : jump port-1") || strings.Contains(got, "port-2") {
		t.Errorf("the table is\n%s", got)
	}
}

func TestWaysOverUDPAreGoneOnceNothingHasThem(t *testing.T) {
	at, pod := netip.MustParseAddrPort("10.96.0.20:53"), netip.MustParseAddrPort("10.89.0.2:53")
	port := func(protocol byte, onNode uint16) Port {
		return Port{At: at, Protocol: protocol, OnNode: onNode, Backends: []netip.AddrPort{pod}}
	}
	const sctp = 132
	udp, both := []Port{port(UDP, 30053)}, []Port{port(UDP, 30053), port(sctp, 0)}
	own, onNode := Link{at, pod}, Link{netip.MustParseAddrPort("0.0.0.0:30053"), pod}
	for _, c := range []struct {
		name          string
		before, after []Port
		want          []Link
	}{
		{"the service goes", udp, nil, []Link{own, onNode}},
		{"its port of the machine goes", udp, []Port{port(UDP, 0)}, []Link{onNode}},
		{"another protocol stays", both, both[1:], []Link{own, onNode}},
		{"another protocol comes", udp, both, nil},
		{"another protocol goes", both, udp, nil},
	} {
		got := Gone(c.before, c.after)
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(l Link) bool { return !got[l] }) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestClientsStayWhenABackendGoes(t *testing.T) {
	var all []netip.AddrPort
	for i := range byte(4) {
		all = append(all, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 89, 0, i + 2}), 80))
	}
	before, after := deal(all), deal(all[1:])
	counts := map[netip.AddrPort]int{}
	for share, b := range before {
		counts[b]++
		if b != all[0] && after[share] != b {
			t.Errorf("share %d moved from %s to %s", share, b, after[share])
		}
	}
	for _, b := range all {
		if counts[b] < shares/8 {
			t.Errorf("the shares are %v, want all backends to have some", counts)
		}
	}
}
