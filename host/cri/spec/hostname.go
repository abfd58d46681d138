package spec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const (
	maxLabel    = 63 // of a name in DNS
	maxHostname = 64 // in the kernel
)

// PodName is a pod's name for itself.
type PodName struct {
	Short  string // one label, unless the pod's own name has dots
	Domain string // of its subdomain; empty: none
}

// nameOf works out a pod's name below the domain of the cluster.
func nameOf(pod *corev1.Pod, cluster string) PodName {
	if override := pod.Spec.HostnameOverride; override != nil {
		return PodName{Short: *override}
	}
	name := PodName{Short: pod.Name}
	if pod.Spec.Hostname != "" {
		name.Short = pod.Spec.Hostname
	}
	if len(name.Short) > maxLabel {
		name.Short = strings.TrimRight(name.Short[:maxLabel], "-.")
	}
	if pod.Spec.Subdomain != "" {
		domain := strings.Join([]string{pod.Spec.Subdomain, pod.Namespace, "svc", cluster}, ".")
		name.Domain = strings.TrimRight(domain, ".")
	}
	return name
}

// hostname returns the pod's name in the kernel. It is empty for a pod on the host's network: the runtime fills in
// the host's name.
func (n PodName) hostname(pod *corev1.Pod) (string, error) {
	switch {
	case pod.Spec.HostNetwork:
		return "", nil
	case n.Domain == "" || !isTrue(pod.Spec.SetHostnameAsFQDN):
		return n.Short, nil
	}
	full := n.Short + "." + n.Domain
	if len(full) > maxHostname {
		return "", fmt.Errorf("FQDN %s is too long (%d characters is the max, %d characters requested): %w",
			full, maxHostname, len(full), node.ErrInvalid)
	}
	return full, nil
}
