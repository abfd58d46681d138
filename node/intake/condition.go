package intake

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"nodal/node"
	"nodal/node/store"
)

const (
	maxConditions       = 32
	maxConditionReason  = 256
	maxConditionMessage = 4096
)

// SetCondition sets a condition of a pod on behalf of a client. It stays until a client
// sets it again, across restarts of the node.
func (in Intake) SetCondition(key node.Key, said corev1.PodCondition, now time.Time) error {
	if wrong := wrongCondition(said); len(wrong) > 0 {
		return &node.InvalidError{Violations: wrong}
	}
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		slot := tx.Get(key)
		switch {
		case slot == nil:
			return fmt.Errorf("pod %s: %w", key, node.ErrNotFound)
		case slot.Result != nil:
			return fmt.Errorf("set a condition of pod %s: it has finished (%s): %w", key, slot.Result.Phase, node.ErrConflict)
		}
		said.ObservedGeneration = slot.Pod.Object.Generation
		conditions, changed := withCondition(slot.Pod.Conditions, said, now)
		if len(conditions) > maxConditions {
			return fmt.Errorf("set condition %s of pod %s: it has %d conditions already; remove one: %w", said.Type, key, maxConditions, node.ErrConflict)
		}
		if changed {
			pod := *slot.Pod
			pod.Conditions = conditions
			next := *slot
			next.Pod = &pod
			tx.Put(key, &next)
		}
		return nil
	})
	return err
}

// withCondition returns the list with one condition set, and whether that changed it. Only another
// status counts as a transition.
func withCondition(list []corev1.PodCondition, said corev1.PodCondition, now time.Time) ([]corev1.PodCondition, bool) {
	said.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	i := slices.IndexFunc(list, func(c corev1.PodCondition) bool { return c.Type == said.Type })
	if i < 0 {
		return append(slices.Clone(list), said), true
	}
	if list[i].Status == said.Status {
		said.LastTransitionTime = list[i].LastTransitionTime
	}
	if list[i] == said {
		return list, false
	}
	list = slices.Clone(list)
	list[i] = said
	return list, true
}

func wrongCondition(said corev1.PodCondition) []node.Violation {
	var wrong []node.Violation
	refuse := func(field, rule string) { wrong = append(wrong, node.Violation{Field: field, Rule: rule}) }
	for _, rule := range validation.IsQualifiedName(string(said.Type)) {
		refuse("type", rule)
	}
	if node.OwnCondition(said.Type) || said.Type == corev1.DisruptionTarget {
		refuse("type", fmt.Sprintf("%s is set by the node itself", said.Type))
	}
	switch said.Status {
	case corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown:
	default:
		refuse("status", fmt.Sprintf("%q must be True, False or Unknown", said.Status))
	}
	if len(said.Reason) > maxConditionReason {
		refuse("reason", fmt.Sprintf("must have at most %d bytes", maxConditionReason))
	}
	if len(said.Message) > maxConditionMessage {
		refuse("message", fmt.Sprintf("must have at most %d bytes", maxConditionMessage))
	}
	return wrong
}
