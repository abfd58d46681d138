package policy

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"nodal/node"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func pod(namespace, name string, labels map[string]string, ports []corev1.ContainerPort, addresses ...string) Pod {
	p := Pod{Key: node.Key{Namespace: namespace, Name: name}, Labels: labels, Ports: ports}
	for _, a := range addresses {
		p.Addresses = append(p.Addresses, netip.MustParseAddr(a))
	}
	return p
}

// read reads policies, with the defaults that a manifest gets.
func read(t *testing.T, text string) (all []*networkingv1.NetworkPolicy) {
	t.Helper()
	for _, document := range strings.Split(text, "---\n") {
		p := new(networkingv1.NetworkPolicy)
		if err := yaml.UnmarshalStrict([]byte(document), p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestTables compares tables with golden files: for each FILE.yaml in testdata, the table is in FILE.nft.
func TestTables(t *testing.T) {
	web := []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	pods := []Pod{
		pod("default", "web", map[string]string{"app": "web"}, web, "10.90.1.2", "fd01:2::2"),
		pod("default", "db", map[string]string{"app": "db"}, nil, "10.90.1.3", "fd01:2::3"),
		pod("prod", "web", map[string]string{"app": "web"}, nil, "10.90.1.4"),
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, isPolicy := strings.CutSuffix(f.Name(), ".yaml")
		if !isPolicy {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			got := Table("nodal-1-policy", "nd-1", read(t, string(text)), pods).String()
			golden := "testdata/" + name + ".nft"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || got != string(want) {
				t.Errorf("%s differs (%v; -update rewrites it): got\n%s", golden, err, got)
			}
		})
	}
}

// TestRandomPoliciesMeanWhatKubernetesSays judges random packets by the table, and by the reference.
func TestRandomPoliciesMeanWhatKubernetesSays(t *testing.T) {
	verdicts := map[bool]int{}
	for seed := range uint64(400) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		w := g.world()
		table := Table("t", "b", w.policies, w.pods)
		for range 60 {
			p := g.packet(w.pods)
			want := w.allows(p)
			verdicts[want]++
			if got, _ := passes(t, table, p); got != want {
				text, _ := yaml.Marshal(w.policies)
				t.Fatalf("seed %d: %+v passes: %t, want %t\n%s\n%+v\n%s", seed, p, got, want, text, w.pods, table)
			}
		}
	}
	if verdicts[true] < 1000 || verdicts[false] < 1000 {
		t.Errorf("got verdicts %v, want many of each", verdicts)
	}
}

// TestAPacketCostsTheSameWithManyPods counts the rules that a packet meets.
func TestAPacketCostsTheSameWithManyPods(t *testing.T) {
	policies := read(t, "metadata: {name: a, namespace: default}\nspec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}\n")
	var few, many []Pod
	for i := range 200 {
		p := pod("default", fmt.Sprint(i), nil, nil, fmt.Sprint("10.90.1.", i+2))
		if many = append(many, p); i < 3 {
			few = append(few, p)
		}
	}
	p := packet{few[0].Addresses[0], few[1].Addresses[0], corev1.ProtocolTCP, 80}
	_, a := passes(t, Table("t", "b", policies, few), p)
	_, b := passes(t, Table("t", "b", policies, many), p)
	if a != b {
		t.Errorf("a packet meets %d rules with 3 pods, and %d with 200", a, b)
	}
}

// generator makes small random worlds, in which things meet often.
type generator struct{ *rand.Rand }

func pick[T any](g generator, all ...T) T { return all[g.IntN(len(all))] }

// some returns up to most results.
func some[T any](g generator, most int, one func() T) (all []T) {
	for range g.IntN(most + 1) {
		all = append(all, one())
	}
	return all
}

func (g generator) labels() map[string]string {
	all := map[string]string{}
	for _, key := range some(g, 2, func() string { return pick(g, "a", "b") }) {
		all[key] = pick(g, "x", "y")
	}
	return all
}

func (g generator) selector() metav1.LabelSelector {
	s := metav1.LabelSelector{MatchLabels: g.labels()}
	if g.IntN(4) == 0 {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: pick(g, "a", "b"), Operator: metav1.LabelSelectorOpExists}}
	}
	return s
}

func (g generator) namespaces() *metav1.LabelSelector {
	if g.IntN(2) == 0 {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: pick(g, "one", "two", "three")}}
}

func (g generator) peer() (p networkingv1.NetworkPolicyPeer) {
	switch g.IntN(4) {
	case 0:
		p.IPBlock = pick(g,
			&networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"10.0.0.0/28", "10.0.0.64/26"}},
			&networkingv1.IPBlock{CIDR: "10.0.0.0/24", Except: []string{"10.0.0.4/30"}},
			&networkingv1.IPBlock{CIDR: "::/0", Except: []string{"fd00::/126"}},
			&networkingv1.IPBlock{CIDR: "fd00::4/128"},
			&networkingv1.IPBlock{CIDR: "8.8.8.8/32"})
	case 1:
		p.PodSelector = new(g.selector())
	case 2:
		p.NamespaceSelector = g.namespaces()
	default:
		p.PodSelector, p.NamespaceSelector = new(g.selector()), g.namespaces()
	}
	return p
}

func (g generator) protocol() corev1.Protocol {
	return pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
}

func (g generator) port() networkingv1.NetworkPolicyPort {
	p := networkingv1.NetworkPolicyPort{Protocol: new(g.protocol())}
	switch g.IntN(4) {
	case 0:
		p.Port = new(intstr.FromString(pick(g, "http", "dns")))
	case 1:
		p.Port, p.EndPort = new(intstr.FromInt32(80)), new(int32(82))
	case 2:
		p.Port = new(intstr.FromInt32(int32(79 + g.IntN(5))))
	}
	return p
}

func (g generator) world() (w world) {
	for i := range 2 + g.IntN(6) {
		p := pod(pick(g, "one", "two"), fmt.Sprint(i), g.labels(), nil, fmt.Sprint("10.0.0.", i+2))
		if g.IntN(3) > 0 {
			p.Addresses = append(p.Addresses, netip.MustParseAddr(fmt.Sprint("fd00::", i+2)))
		}
		p.Ports = some(g, 2, func() corev1.ContainerPort {
			return corev1.ContainerPort{Name: pick(g, "http", "dns"), ContainerPort: int32(79 + g.IntN(5)), Protocol: g.protocol()}
		})
		w.pods = append(w.pods, p)
	}
	for i := range 1 + g.IntN(4) {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: pick(g, "one", "two"), Name: fmt.Sprint(i)}}
		p.Spec.PodSelector = g.selector()
		p.Spec.PolicyTypes = pick(g, []networkingv1.PolicyType{"Ingress"}, []networkingv1.PolicyType{"Egress"}, []networkingv1.PolicyType{"Ingress", "Egress"})
		p.Spec.Ingress = some(g, 2, func() networkingv1.NetworkPolicyIngressRule {
			return networkingv1.NetworkPolicyIngressRule{From: some(g, 2, g.peer), Ports: some(g, 2, g.port)}
		})
		p.Spec.Egress = some(g, 2, func() networkingv1.NetworkPolicyEgressRule {
			return networkingv1.NetworkPolicyEgressRule{To: some(g, 2, g.peer), Ports: some(g, 2, g.port)}
		})
		w.policies = append(w.policies, p)
	}
	return w
}

func (g generator) packet(pods []Pod) packet {
	four := []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.70"), netip.MustParseAddr("192.0.2.1")}
	six := []netip.Addr{netip.MustParseAddr("2001:db8::1")}
	for _, p := range pods {
		for _, a := range p.Addresses {
			if a.Is6() {
				six = append(six, a)
			} else {
				four = append(four, a)
			}
		}
	}
	all := pick(g, four, six)
	return packet{pick(g, all...), pick(g, all...), g.protocol(), int32(79 + g.IntN(5))}
}
