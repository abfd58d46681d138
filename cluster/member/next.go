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
	deadline time.Time // set while it is being deleted: by when it may be killed
	gone     bool      // it was deleted, and object is the last that was seen of it
}

// sides holds both views of one name, and what was done about it before.
type sides struct {
	want    *corev1.Pod // the cluster's pod of that name, or nil
	have    *local      // the node's pod; nil if it never had one
	applied string      // which manifest the node has taken
	asked   *int64      // grace in seconds with which the node was asked to end have, or nil
}

// verb names the thing to do.
type verb uint8

const (
	agreed verb = iota // both sides agree
	apply              // the node shall run what the cluster has
	remove             // the node shall end the pod
	vouch              // the node shall show a condition that somebody set in the cluster
	report             // the cluster shall have the node's status
	forget             // the cluster shall drop the pod: nothing is left of it here
	mirror             // the cluster shall show a pod that is not its own
)

// step is the one next thing to do about a pod.
type step struct {
	verb      verb
	uid       types.UID // of the pod it is about
	grace     *int64    // of remove
	condition corev1.PodCondition
	status    corev1.PodStatus
	canWait   bool // report: a later status makes this one needless
}

// next says what to do about a pod so that both sides come to agree.
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
	if c, ok := unsaid(s.want, s.have.object); ok {
		return step{verb: vouch, uid: s.want.UID, condition: c}
	}
	return s.reporting()
}

// running is the pod on the node while there is one.
func (s sides) running() *local {
	if s.have == nil || s.have.gone {
		return nil
	}
	return s.have
}

// over handles a pod that has finished in the cluster's eyes. The node never gets it
// again: another pod may have taken its place long ago. A pod that still runs here has to
// end, because its phase is final, whichever client set it.
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

// taken handles a pod whose name belongs to another pod on the node. That one stays unless
// it ends already.
func taken(s sides) step {
	if !s.have.deadline.IsZero() {
		return step{}
	}
	return step{verb: report, uid: s.want.UID, status: refusal(s.want, "the node has a pod of that name already, which came in another way")}
}

// unwanted is about a name that the cluster does not have: a pod of its own has
// to go, and others it is shown.
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

// reflection handles the mirror of a pod that came to the node in another way. A mirror
// that is deleted alone is made again.
func reflection(s sides) step {
	have := s.running()
	if have == nil || have.ours || mirrored(s.want) != identity(have.object) || s.want.DeletionTimestamp != nil {
		return step{verb: forget, uid: s.want.UID}
	}
	return s.reporting()
}

// mirrored returns the identity of the pod that a cluster's pod mirrors, or "".
func mirrored(want *corev1.Pod) string { return want.Annotations[corev1.MirrorPodAnnotationKey] }

// identity changes whenever another pod takes the name.
func identity(object *corev1.Pod) string {
	return cmp.Or(object.Annotations[manifest.AnnotationHash], string(object.UID))
}

// ending is about a pod that the cluster has deleted. It is dropped there last.
func ending(s sides) step {
	have := s.running()
	if have == nil || have.object.UID != s.want.UID {
		if s.have != nil && s.have.object.UID == s.want.UID {
			if r := s.reporting(); r.verb == report {
				return r
			}
		}
		if grace := s.want.DeletionGracePeriodSeconds; grace != nil && *grace == 0 && len(s.want.Finalizers) > 0 {
			return step{} // said already; others hold it
		}
		return step{verb: forget, uid: s.want.UID}
	}
	late := s.want.DeletionTimestamp.Add(slack).Before(have.deadline)
	if grace := s.want.DeletionGracePeriodSeconds; have.deadline.IsZero() || late && (s.asked == nil || grace != nil && *grace != *s.asked) {
		return step{verb: remove, uid: s.want.UID, grace: s.want.DeletionGracePeriodSeconds}
	}
	return s.reporting()
}

// slack allows for two clocks and a request under way when deadlines are compared.
const slack = 5 * time.Second

// reporting sends the pod's status to the cluster if it differs there.
func (s sides) reporting() step {
	status := statusFor(s.want, s.have)
	if equality.Semantic.DeepEqual(status, s.want.Status) {
		return step{}
	}
	return step{verb: report, uid: s.want.UID, status: status, canWait: onTheWay(&s.want.Status) && onTheWay(&status)}
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// unsaid finds a condition that a readiness gate of the pod waits for and that the node
// does not have yet as the cluster has it.
func unsaid(want, have *corev1.Pod) (corev1.PodCondition, bool) {
	for _, gate := range want.Spec.ReadinessGates {
		said, known := conditionOf(want, gate.ConditionType), conditionOf(have, gate.ConditionType)
		if said != nil && (known == nil || known.Status != said.Status || known.Reason != said.Reason || known.Message != said.Message) {
			return *said, true
		}
	}
	return corev1.PodCondition{}, false
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
