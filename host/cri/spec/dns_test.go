package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const hostResolvConf = `# made by hand
nameserver 192.0.2.53
nameserver 192.0.2.53
nameserver 192.0.2.54 ; the other
search old.example
search lan.example. corp.example
options timeout:1 rotate
options timeout:2
`

func TestDNSConfig(t *testing.T) {
	cluster := DNS{Servers: []string{"10.96.0.10"}, Domain: "cluster.local"}
	none := DNS{}
	const host = "192.0.2.53 192.0.2.54|lan.example corp.example|timeout:2 rotate"
	const clusterFirst = "10.96.0.10|default.svc.cluster.local svc.cluster.local cluster.local lan.example corp.example|ndots:5"
	for _, test := range []struct {
		name   string
		dns    DNS
		change func(*corev1.PodSpec)
		want   string
	}{
		{"Default is the host's", cluster, func(s *corev1.PodSpec) { s.DNSPolicy = corev1.DNSDefault }, host},
		{"ClusterFirst is the cluster's before the host's", cluster, func(s *corev1.PodSpec) { s.DNSPolicy = corev1.DNSClusterFirst }, clusterFirst},
		{"ClusterFirst without a cluster is the host's", none, func(s *corev1.PodSpec) { s.DNSPolicy = corev1.DNSClusterFirst }, host},
		{"ClusterFirst on the host's network is the host's", cluster, func(s *corev1.PodSpec) { s.HostNetwork = true }, host},
		{"unless the pod insists", cluster, func(s *corev1.PodSpec) {
			s.HostNetwork, s.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
		}, clusterFirst},
		{"None is what the pod says", cluster, func(s *corev1.PodSpec) {
			s.DNSPolicy = corev1.DNSNone
			s.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"203.0.113.1"}, Searches: []string{"own.example"}}
		}, "203.0.113.1|own.example|"},
		{"the pod's own is added, its options win", none, func(s *corev1.PodSpec) {
			s.DNSConfig = &corev1.PodDNSConfig{
				Nameservers: []string{"192.0.2.54", "203.0.113.1", "203.0.113.2"},
				Searches:    []string{"corp.example", "own.example"},
				Options:     []corev1.PodDNSConfigOption{{Name: "timeout", Value: new("9")}, {Name: "edns0"}},
			}
		}, "192.0.2.53 192.0.2.54 203.0.113.1|lan.example corp.example own.example|timeout:9 rotate edns0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := specPod(func(p *corev1.Pod) { test.change(&p.Spec) })
			config, _ := podDNS(pod, test.dns, ParseResolvConf(hostResolvConf))
			got := strings.Join([]string{
				strings.Join(config.Servers, " "), strings.Join(config.Searches, " "), strings.Join(config.Options, " "),
			}, "|")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWithoutAHostsFilePodsInheritNothing(t *testing.T) {
	config, _ := podDNS(specPod(nil), DNS{}, nil)
	if !slices.Equal(config.Servers, []string{"127.0.0.1"}) || !slices.Equal(config.Searches, []string{"."}) {
		t.Errorf("got %v, want a resolver that is not there and no domain", config)
	}
}

func TestSearchDomainsAreLimited(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("d%d.example", i))
	}
	if got := limitSearches(many); !slices.Equal(got, many[:32]) {
		t.Errorf("of 40 domains %d are kept, want 32", len(got))
	}
	long := []string{strings.Repeat("a", 1000), strings.Repeat("b", 1000), strings.Repeat("c", 47), "d"}
	if got := limitSearches(long); len(got) != 2 {
		t.Errorf("of 2049 characters %d domains are kept, want 2", len(got))
	}
}

func TestOwnersLearnOfDNSNamesThatDoNotResolve(t *testing.T) {
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("d%d.example", i))
	}
	for _, test := range []struct {
		name   string
		change func(*corev1.PodSpec)
		want   []string
	}{
		{"nothing to tell", func(*corev1.PodSpec) {}, nil},
		{"a fourth server", func(s *corev1.PodSpec) {
			s.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1", "192.0.2.2"}}
		}, []string{"DNSConfigForming: Nameserver limits were exceeded, the nameservers that apply are: 192.0.2.53 192.0.2.54 192.0.2.1"}},
		{"a repeated server is one", func(s *corev1.PodSpec) {
			s.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.53", "192.0.2.1"}}
		}, nil},
		{"a 33rd search path", func(s *corev1.PodSpec) {
			s.DNSPolicy, s.DNSConfig = corev1.DNSNone, &corev1.PodDNSConfig{Searches: many}
		}, []string{"DNSConfigForming: Search Line limits were exceeded, the search paths that apply are: " + strings.Join(many[:32], " ")}},
		{"the cluster's servers on a node without a cluster", func(s *corev1.PodSpec) {
			s.HostNetwork, s.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
		}, []string{`MissingClusterDNS: this node has no cluster DNS, policy "ClusterFirstWithHostNet" falls back to "Default"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := specPod(func(p *corev1.Pod) { test.change(&p.Spec) })
			_, notices := podDNS(pod, DNS{}, ParseResolvConf(hostResolvConf))
			var got []string
			for _, n := range notices {
				got = append(got, n.Reason+": "+n.Message)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
