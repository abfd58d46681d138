package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// isolating returns the places of the policies that isolate a pod in a direction.
func isolating(policies []chooser, kind networkingv1.PolicyType, p Pod) (places []int) {
	for at, policy := range policies {
		if policy.isolates(kind) && policy.selects(p) {
			places = append(places, at)
		}
	}
	return places
}

// chooser is a policy with its selector read once: it is asked of every pod.
type chooser struct {
	*networkingv1.NetworkPolicy
	pods labels.Selector
}

func choosers(policies []*networkingv1.NetworkPolicy) []chooser {
	all := make([]chooser, len(policies))
	for i, p := range policies {
		all[i] = chooser{p, selector(&p.Spec.PodSelector)}
	}
	return all
}

func (c chooser) isolates(kind networkingv1.PolicyType) bool {
	return slices.Contains(c.Spec.PolicyTypes, kind)
}

// selects reports whether a policy is about a pod.
func (c chooser) selects(p Pod) bool {
	return c.Namespace == p.Key.Namespace && c.pods.Matches(labels.Set(p.Labels))
}

// selector reads a selector. One that cannot be read, which the rules for manifests keep out, matches nothing.
func selector(s *metav1.LabelSelector) labels.Selector {
	read, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return read
}

// peerPods returns the pods that a peer of a policy in a namespace names.
func peerPods(namespace string, peer networkingv1.NetworkPolicyPeer, pods []Pod) (found []Pod) {
	// A node has no Namespace objects. This label Kubernetes gives each of them, with its name.
	in, which := labels.SelectorFromSet(labels.Set{corev1.LabelMetadataName: namespace}), labels.Everything()
	if peer.NamespaceSelector != nil {
		in = selector(peer.NamespaceSelector)
	}
	if peer.PodSelector != nil {
		which = selector(peer.PodSelector)
	}
	for _, p := range pods {
		if in.Matches(labels.Set{corev1.LabelMetadataName: p.Key.Namespace}) && which.Matches(labels.Set(p.Labels)) {
			found = append(found, p)
		}
	}
	return found
}
