package intake

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/store"
)

// A pod takes its priority from its class when it is accepted, by the rules of Kubernetes'
// Priority admission plugin: the class may go afterwards, the pod stays what it is.

// ranks reports whether the node gives a pod its priority. Static pods pass no admission in
// Kubernetes, and a cluster has given its pods theirs.
func (in Intake) ranks(object *corev1.Pod) bool {
	return in.Source == node.SourceAPI && !node.FromCluster(object)
}

// rankOf returns the priority class of that name, or the default one. It returns nil if there is
// no such class.
func rankOf(tx *store.Tx, name string) *schedulingv1.PriorityClass {
	if name == "" {
		return defaultRank(tx)
	}
	if value, ok := limit.SystemPriority(name); ok {
		class := &schedulingv1.PriorityClass{Value: value, PreemptionPolicy: new(corev1.PreemptLowerPriority)}
		class.Name = name
		return class
	}
	if found := tx.Object(node.ObjectRef{Kind: node.PriorityClass, Name: name}); found != nil {
		return node.As[*schedulingv1.PriorityClass](found)
	}
	return nil
}

func defaultRank(tx *store.Tx) *schedulingv1.PriorityClass {
	for _, object := range tx.Objects(node.PriorityClass) {
		if class := node.As[*schedulingv1.PriorityClass](object); class.GlobalDefault {
			return class
		}
	}
	return nil
}

// ranked refuses a new pod whose priority class is not there, or which gives other numbers than
// that class.
func (in Intake) ranked(tx *store.Tx, d Delivery, verdict Verdict) []node.Violation {
	if !in.ranks(d.Pod) || verdict != Created && verdict != Replaced {
		return nil
	}
	spec := &d.Pod.Spec
	class := rankOf(tx, spec.PriorityClassName)
	says := fmt.Sprintf("PriorityClass %q", spec.PriorityClassName)
	switch {
	case class == nil && spec.PriorityClassName != "":
		return broken("spec.priorityClassName", "Not found: there is no "+says+" on this node; post it first")
	case class == nil:
		class, says = &schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptLowerPriority)}, "a pod without a PriorityClass"
	case spec.PriorityClassName == "":
		says = fmt.Sprintf("the default PriorityClass %q", class.Name)
	}
	var wrong []node.Violation
	if own := spec.Priority; own != nil && *own != class.Value {
		rule := fmt.Sprintf("Forbidden: is %d, but %s has %d; leave it out", *own, says, class.Value)
		wrong = append(wrong, broken("spec.priority", rule)...)
	}
	if own := spec.PreemptionPolicy; own != nil && *own != *class.PreemptionPolicy {
		rule := fmt.Sprintf("Forbidden: is %s, but %s has %s; leave it out", *own, says, *class.PreemptionPolicy)
		wrong = append(wrong, broken("spec.preemptionPolicy", rule)...)
	}
	return wrong
}

// rank gives a new pod the priority of its class. A pod without a class gets none, which counts
// as 0.
func (in Intake) rank(tx *store.Tx, pod *node.Pod) {
	spec := &pod.Object.Spec
	if !in.ranks(pod.Object) {
		return
	}
	if class := rankOf(tx, spec.PriorityClassName); class != nil {
		pod.Unclassed = spec.PriorityClassName == ""
		spec.PriorityClassName = class.Name
		spec.Priority, spec.PreemptionPolicy = new(class.Value), new(*class.PreemptionPolicy)
	}
}

// inheritRank gives a manifest what a pod's priority class has said, if the manifest leaves that
// out and names the same class.
func inheritRank(object *corev1.Pod, old *node.Pod) {
	is, was := &object.Spec, &old.Object.Spec
	if old.Unclassed {
		is.PriorityClassName = cmp.Or(is.PriorityClassName, was.PriorityClassName)
	}
	if is.PriorityClassName == "" || is.PriorityClassName != was.PriorityClassName {
		return
	}
	is.Priority = cmp.Or(is.Priority, was.Priority)
	is.PreemptionPolicy = cmp.Or(is.PreemptionPolicy, was.PreemptionPolicy)
}

// permittedDefault refuses a second default priority class.
func permittedDefault(tx *store.Tx, d Delivery) error {
	class := node.As[*schedulingv1.PriorityClass](d.Object)
	if class == nil || !class.GlobalDefault {
		return nil
	}
	if other := defaultRank(tx); other != nil && other.Name != class.Name {
		rule := fmt.Sprintf("Forbidden: PriorityClass %q is the default already; take that back first", other.Name)
		return invalid(d, "globalDefault", rule)
	}
	return nil
}
