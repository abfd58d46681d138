package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"nodal/node"
	"nodal/node/store"
)

// A pod copies what it needs from its runtime class when it is accepted. Later changes of
// the class do not reach it.

// classOf returns the runtime class that a pod names, or nil.
func classOf(tx *store.Tx, object *corev1.Pod) *nodev1.RuntimeClass {
	name := object.Spec.RuntimeClassName
	if name == nil {
		return nil
	}
	if found := tx.Object(node.ObjectRef{Kind: node.RuntimeClass, Name: *name}); found != nil {
		return found.Class()
	}
	return nil
}

// classed refuses a new pod whose runtime class is missing, or has another overhead than the pod
// names.
func classed(tx *store.Tx, d Delivery, verdict Verdict) []node.Violation {
	name := d.Pod.Spec.RuntimeClassName
	if name == nil || verdict != Created && verdict != Replaced {
		return nil
	}
	class := classOf(tx, d.Pod)
	if class == nil {
		return broken("spec.runtimeClassName", fmt.Sprintf("Not found: there is no RuntimeClass %q on this node", *name))
	}
	if own := d.Pod.Spec.Overhead; len(own) > 0 && !apiequality.Semantic.DeepEqual(own, overheadOf(class)) {
		return broken("spec.overhead", fmt.Sprintf("Forbidden: must be what RuntimeClass %q says, or be left out", *name))
	}
	return nil
}

func overheadOf(class *nodev1.RuntimeClass) corev1.ResourceList {
	if class.Overhead == nil {
		return nil
	}
	return class.Overhead.PodFixed.DeepCopy()
}

// inherited returns the overhead that a pod's class has set, if the manifest leaves that out
// and names the same class.
func inherited(object, old *corev1.Pod) corev1.ResourceList {
	was, is := old.Spec.RuntimeClassName, object.Spec.RuntimeClassName
	if len(object.Spec.Overhead) == 0 && was != nil && is != nil && *was == *is {
		return old.Spec.Overhead
	}
	return object.Spec.Overhead
}
