package podfiles

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Hosts holds the facts of a pod's /etc/hosts.
type Hosts struct {
	Name    string   // of the pod for itself
	Domain  string   // follows the name; may be empty
	IPs     []string // of the pod
	Aliases []corev1.HostAlias
}

// The first line names the owner of the file, for people and for programs that look for it.
const (
	managed     = "# Kubernetes-managed hosts file.\n"
	managedHost = "# Kubernetes-managed hosts file (host network).\n"
)

// loopback holds the names that every pod resolves.
const loopback = `127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
`

// Text returns the hosts file of a pod with a network of its own.
func (h Hosts) Text() string {
	var b strings.Builder
	b.WriteString(managed + loopback)
	for _, ip := range h.IPs {
		if h.Domain != "" {
			fmt.Fprintf(&b, "%s\t%s.%s\t%s\n", ip, h.Name, h.Domain, h.Name)
		} else {
			fmt.Fprintf(&b, "%s\t%s\n", ip, h.Name)
		}
	}
	writeAliases(&b, h.Aliases)
	return b.String()
}

// HostNetwork returns the hosts file of a pod on the host's network: the host's own file, with the pod's aliases behind
// it.
func HostNetwork(host string, aliases []corev1.HostAlias) string {
	var b strings.Builder
	b.WriteString(managedHost)
	b.WriteString(host)
	writeAliases(&b, aliases)
	return b.String()
}

func writeAliases(b *strings.Builder, aliases []corev1.HostAlias) {
	if len(aliases) == 0 {
		return
	}
	b.WriteString("\n# Entries added by HostAliases.\n")
	for _, alias := range aliases {
		b.WriteString(alias.IP + "\t" + strings.Join(alias.Hostnames, "\t") + "\n")
	}
}
