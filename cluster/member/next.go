package member

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/manifest"
)

// local is a pod as the node shows it.
type local struct {
	object   *corev1.Pod
	ours     bool      // it came from the cluster
	deadline time.Time // set while it is being deleted: it may be killed then
	gone     bool      // it was deleted, and object is its last state
}

// sides holds both views of one name, and the steps taken before.
type sides struct {
	want    *corev1.Pod // the cluster's pod of that name, or nil
	have    *local      // the node's pod; nil if it never had one
	applied string      // fingerprint of the manifest that the node has taken
	asked   *int64      // seconds of grace with which the node was asked to end the pod, or nil
	kept    *kept       // of the last status that the cluster has not kept whole; nil if there is none
}

// verb names a step.
type verb uint8

const (
	agreed verb = iota // nothing to do: both sides agree
	apply              // post the cluster's pod to the node
	remove             // have the node end the pod
	vouch              // set a condition on the node that another client set in the cluster
	report             // send the node's status to the cluster
	forget             // delete the pod from the cluster: nothing is left of it here
	mirror             // show the cluster a pod that is not its own
)

// step is the next step for a pod.
type step struct {
	verb      verb
	uid       types.UID // of the pod
	grace     *int64    // of remove
	condition corev1.PodCondition
	status    corev1.PodStatus
	canWait   bool // of report: a later status makes this one needless
}

// next returns the step that brings both sides of a pod closer to agreement.
func next(s sides) step {
	switch {
	case s.want == nil:
		return unwanted(s)
	case mirrored(s.want) != "":
		return reflection(s)
	case s.want.DeletionTimestamp != nil:
		return ending(s)
	case finished(s.want):
		return over(s)
	case s.running() != nil && !s.have.ours && s.have.object.UID != s.want.UID:
		return taken(s)
	case s.running() != nil && s.have.object.UID == s.want.UID && finished(s.have.object):
		return s.reporting() // a finished pod takes no change
	case s.running() == nil || s.have.object.UID != s.want.UID || s.applied != fingerprint(s.want):
		return step{verb: apply, uid: s.want.UID}
	}
	if c, ok := missingCondition(s.want, s.have.object); ok {
		return step{verb: vouch, uid: s.want.UID, condition: c}
	}
	return s.reporting()
}

// running returns the node's pod, or nil if the node has none by now.
func (s sides) running() *local {
	if s.have == nil || s.have.gone {
		return nil
	}
	return s.have
}

// over handles a pod that has finished in the cluster. The node never gets it again: another pod may have its name by
// now. A pod that still runs here has to end: its phase is final, whichever client set it.
func over(s sides) step {
	have := s.running()
	switch {
	case s.have == nil, have == nil && finished(s.have.object):
		return step{}
	case s.have.object.UID == s.want.UID && (have == nil || finished(have.object) || !have.deadline.IsZero()):
		return s.reporting()
	case have != nil && have.deadline.IsZero() && (have.ours || have.object.UID == s.want.UID):
		return step{verb: remove, uid: have.object.UID}
	}
	return step{}
}

// taken handles a pod whose name belongs to another pod on the node. That pod stays, unless it is ending already.
func taken(s sides) step {
	if !s.have.deadline.IsZero() {
		return step{}
	}
	why := "the node has a pod of that name already, which did not come from the cluster"
	return step{verb: report, uid: s.want.UID, status: refusal(s.want, why)}
}

// unwanted handles a name that the cluster does not have. A pod that came from there has to end, and any other pod
// gets a mirror.
func unwanted(s sides) step {
	have := s.running()
	switch {
	case have == nil || !have.deadline.IsZero():
		return step{}
	case have.ours:
		return step{verb: remove, uid: have.object.UID}
	}
	return step{verb: mirror, uid: have.object.UID}
}

// reflection handles the mirror of a pod that came to the node in another way. A mirror that is deleted while its pod
// runs is posted again.
func reflection(s sides) step {
	have := s.running()
	if have == nil || have.ours || mirrored(s.want) != identity(have.object) || s.want.DeletionTimestamp != nil {
		return step{verb: forget, uid: s.want.UID}
	}
	return s.reporting()
}

// mirrored returns the identity of the pod that a cluster's pod mirrors, or "".
func mirrored(want *corev1.Pod) string { return want.Annotations[corev1.MirrorPodAnnotationKey] }

// identity returns a text that changes whenever another pod takes the name.
func identity(object *corev1.Pod) string {
	return cmp.Or(object.Annotations[manifest.AnnotationHash], string(object.UID))
}

// ending handles a pod that is being deleted in the cluster. It is forgotten there last.
func ending(s sides) step {
	have := s.running()
	if have == nil || have.object.UID != s.want.UID {
		if s.have != nil && s.have.object.UID == s.want.UID {
			if r := s.reporting(); r.verb == report {
				return r
			}
		}
		if grace := s.want.DeletionGracePeriodSeconds; grace != nil && *grace == 0 && len(s.want.Finalizers) > 0 {
			return step{} // forgotten already; finalizers keep it
		}
		return step{verb: forget, uid: s.want.UID}
	}
	grace := s.want.DeletionGracePeriodSeconds
	late := s.want.DeletionTimestamp.Add(slack).Before(have.deadline)
	if have.deadline.IsZero() || late && (s.asked == nil || grace != nil && *grace != *s.asked) {
		return step{verb: remove, uid: s.want.UID, grace: grace}
	}
	return s.reporting()
}

// slack is the difference that two clocks and a request under way may make between deadlines.
const slack = 5 * time.Second

// reporting returns the step that sends the pod's status to the cluster, if it differs there by more than the cluster
// drops.
func (s sides) reporting() step {
	status := statusFor(s.want, s.have)
	if equality.Semantic.DeepEqual(status, s.want.Status) || s.kept.covers(&status, &s.want.Status) {
		return step{}
	}
	return step{verb: report, uid: s.want.UID, status: status, canWait: starting(&status) || unlearned(&s.want.Status, &status)}
}

// finished reports whether a pod has a final phase.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// missingCondition returns a condition of the pod's readiness gates that differs on the node from the cluster's.
func missingCondition(want, have *corev1.Pod) (corev1.PodCondition, bool) {
	for _, gate := range want.Spec.ReadinessGates {
		set, known := conditionOf(want, gate.ConditionType), conditionOf(have, gate.ConditionType)
		if set != nil && (known == nil || known.Status != set.Status || known.Reason != set.Reason || known.Message != set.Message) {
			return *set, true
		}
	}
	return corev1.PodCondition{}, false
}

// conditionOf returns a condition of a pod, or nil.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
