package spec

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The limits of resolvers.
const (
	maxNameservers  = 3
	maxSearches     = 32
	maxSearchLength = 2048
)

// ParseResolvConf reads the directives of a resolv.conf that pods inherit. Of several search lines the last one counts.
func ParseResolvConf(text string) *runtimeapi.DNSConfig {
	config := &runtimeapi.DNSConfig{}
	for line := range strings.Lines(text) {
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			config.Servers = append(config.Servers, fields[1])
		case "search":
			config.Searches = nil
			for _, domain := range fields[1:] {
				if domain != "." {
					domain = strings.TrimSuffix(domain, ".")
				}
				config.Searches = append(config.Searches, domain)
			}
		case "options":
			config.Options = mergeOptions(config.Options, fields[1:])
		}
	}
	return config
}

// podDNS returns the pod's resolv.conf. If host is nil, the pod inherits nothing from the host.
func podDNS(pod *corev1.Pod, dns DNS, host *runtimeapi.DNSConfig) (*runtimeapi.DNSConfig, []Notice) {
	var config *runtimeapi.DNSConfig
	var notices []Notice
	// ClusterFirst is the default, so a node without a cluster does not warn of it. This policy was chosen.
	if pod.Spec.DNSPolicy == corev1.DNSClusterFirstWithHostNet && len(dns.Servers) == 0 {
		notices = append(notices, Notice{reasonNoClusterDNS,
			`this node has no cluster DNS, policy "ClusterFirstWithHostNet" falls back to "Default"`})
	}
	switch {
	case pod.Spec.DNSPolicy == corev1.DNSNone:
		config = &runtimeapi.DNSConfig{}
	case asksCluster(pod) && len(dns.Servers) > 0:
		config = clusterDNS(pod.Namespace, dns, host)
	case host == nil:
		// Runtimes replace an empty configuration by the host's.
		config = &runtimeapi.DNSConfig{Servers: []string{"127.0.0.1"}, Searches: []string{"."}}
	default:
		config = proto.CloneOf(host)
	}
	if own := pod.Spec.DNSConfig; own != nil {
		config.Servers = append(config.Servers, own.Nameservers...)
		config.Searches = append(config.Searches, own.Searches...)
		config.Options = mergeOptions(config.Options, ownOptions(own))
	}
	return config, append(notices, cutDown(config)...)
}

// asksCluster reports whether a pod resolves names with the cluster's servers. On the host's network ClusterFirst means
// the host's.
func asksCluster(pod *corev1.Pod) bool {
	switch pod.Spec.DNSPolicy {
	case corev1.DNSClusterFirstWithHostNet:
		return true
	case corev1.DNSClusterFirst, "":
		return !pod.Spec.HostNetwork
	}
	return false
}

func clusterDNS(namespace string, dns DNS, host *runtimeapi.DNSConfig) *runtimeapi.DNSConfig {
	config := &runtimeapi.DNSConfig{Servers: slices.Clone(dns.Servers), Options: []string{"ndots:5"}}
	if dns.Domain != "" {
		config.Searches = []string{namespace + ".svc." + dns.Domain, "svc." + dns.Domain, dns.Domain}
	}
	config.Searches = append(config.Searches, host.GetSearches()...)
	return config
}

func ownOptions(own *corev1.PodDNSConfig) []string {
	options := make([]string, 0, len(own.Options))
	for _, o := range own.Options {
		option := o.Name
		if o.Value != nil && *o.Value != "" {
			option += ":" + *o.Value
		}
		options = append(options, option)
	}
	return options
}

// mergeOptions adds options; one of the same name replaces the earlier.
func mergeOptions(options, more []string) []string {
	for _, option := range more {
		name, _, _ := strings.Cut(option, ":")
		same := func(o string) bool {
			other, _, _ := strings.Cut(o, ":")
			return other == name
		}
		if i := slices.IndexFunc(options, same); i >= 0 {
			options[i] = option
		} else {
			options = append(options, option)
		}
	}
	return options
}

// cutDown shortens a configuration to what resolvers read, with a notice for each list that it cuts.
func cutDown(config *runtimeapi.DNSConfig) []Notice {
	var notices []Notice
	config.Servers = withoutRepeats(config.Servers)
	if kept := config.Servers[:min(len(config.Servers), maxNameservers)]; len(kept) < len(config.Servers) {
		config.Servers = kept
		notices = append(notices, Notice{reasonDNSLimits,
			"Nameserver limits were exceeded, the nameservers that apply are: " + strings.Join(kept, " ")})
	}
	config.Searches = withoutRepeats(config.Searches)
	if kept := limitSearches(config.Searches); len(kept) < len(config.Searches) {
		config.Searches = kept
		notices = append(notices, Notice{reasonDNSLimits,
			"Search Line limits were exceeded, the search paths that apply are: " + strings.Join(kept, " ")})
	}
	return notices
}

func limitSearches(searches []string) []string {
	searches = searches[:min(len(searches), maxSearches)]
	length := 0
	for i, domain := range searches {
		if length += len(domain); length+i > maxSearchLength {
			return searches[:i]
		}
	}
	return searches
}

func withoutRepeats(list []string) []string {
	var kept []string
	for _, entry := range list {
		if !slices.Contains(kept, entry) {
			kept = append(kept, entry)
		}
	}
	return kept
}
