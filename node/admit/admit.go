package admit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/users"
)

// Node holds what this node offers to pods. It is a snapshot: a later offer is another value.
type Node struct {
	Name        string
	Labels      map[string]string
	Capacity    corev1.ResourceList // of the machine
	Allocatable corev1.ResourceList // by pods; what is not listed is not counted
	// Assigned are the resources whose units node/assign gives to pods one by one. Their number is not counted here: a pod
	// may hold a unit that is no longer allocatable.
	Assigned map[corev1.ResourceName]bool
	Taints   []corev1.Taint
	Swap     limit.Swap

	UnsafeSysctls []string // that pods may set; a name that ends in a star stands for all that begin so
	AppArmor      bool     // the kernel enforces its profiles

	Listeners []Listener // the agent's own ports on the host

	Users users.Pool // for pods that do not share those of the host
}

// Check returns why the node refuses a pod beside the others that run on it or are about to. It
// returns nil if the node takes the pod.
func (n Node) Check(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	for _, check := range []func(*corev1.Pod, []*corev1.Pod) *node.Refusal{system, n.place, ports, n.room, n.taints, n.sysctls, n.apparmor} {
		if refusal := check(pod, others); refusal != nil {
			return rejected(refusal.Reason, refusal.Message)
		}
	}
	return nil
}

// system refuses pods for other systems, which a selector would have kept away.
func system(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	if label, ok := pod.Labels[corev1.LabelOSStable]; ok && label != string(corev1.Linux) {
		return &node.Refusal{Reason: "PodOSSelectorNodeLabelDoesNotMatch",
			Message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	}
	if os := pod.Spec.OS; os != nil && os.Name != corev1.Linux {
		return &node.Refusal{Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS"}
	}
	return nil
}

// place holds the pod's node selector and required affinity against the node, unless a cluster has
// done so (node.AnnotationPlaced).
func (n Node) place(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	if node.Placed(pod) {
		return nil
	}
	self := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	// A selector that cannot be read matches nothing.
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(self); !ok || err != nil {
		return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	return nil
}

// taints refuses a pod that a taint of the node would evict at once. A static pod tolerates all of
// those: it gets that toleration when it is read.
func (n Node) taints(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	evicts := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	if _, found := scheduling.FindMatchingUntoleratedTaint(silent, n.Taints, pod.Spec.Tolerations, evicts, true); found {
		return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return nil
}

// silent discards the library's log of tolerations with malformed numbers.
var silent klog.Logger

func predicate(name, why string) *node.Refusal {
	return &node.Refusal{Reason: name, Message: fmt.Sprintf("Predicate %s failed: %s", name, why)}
}
