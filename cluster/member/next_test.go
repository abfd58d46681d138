package member

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// scene is both sides of one name.
type scene struct{ sides }

type option func(*scene)

func object(uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Image: "a:1"}}},
	}
}

func given(options ...option) sides {
	s := &scene{}
	for _, o := range options {
		o(s)
	}
	return s.sides
}

// wanted is a pod that the cluster has.
func wanted(uid types.UID) option { return func(s *scene) { s.want = object(uid) } }

// here is a pod of the cluster on the node, which has taken what the cluster has.
func here(uid types.UID) option {
	return func(s *scene) {
		s.have = &local{object: object(uid), ours: true}
		if s.want != nil {
			s.applied = fingerprint(s.want)
		}
	}
}

func foreign(s *scene) { s.have.ours = false }

// mirrors turns the cluster's pod into a mirror of another.
func mirrors(uid string) option {
	return func(s *scene) { s.want.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: uid} }
}

// finishedHere is a pod that has ended by itself on the node.
func finishedHere(s *scene) { s.have.object.Status.Phase = corev1.PodSucceeded }

// told makes the node one that was asked to end the pod within so many seconds.
func told(seconds int64) option { return func(s *scene) { s.asked = &seconds } }

// unknown forgets the applied manifest, as a new process has.
func unknown(s *scene) { s.applied = "" }

// addressed is something that the node alone says of the pod.
func addressed(s *scene) { s.have.object.Status.HostIP = "192.0.2.1" }

func gone(s *scene)     { s.have.gone = true }
func held(s *scene)     { s.want.Finalizers = []string{"example.com/keep"} }
func edited(s *scene)   { s.want.Spec.Containers[0].Image = "a:2" }
func finishes(s *scene) { s.want.Status.Phase = corev1.PodSucceeded }

// deleted is a deletion in the cluster that has so many seconds to go.
func deleted(seconds int64) option {
	return func(s *scene) {
		at := metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
		s.want.DeletionTimestamp, s.want.DeletionGracePeriodSeconds = &at, &seconds
	}
}

// ends is a deletion on the node that has so many seconds to go.
func ends(seconds int) option {
	return func(s *scene) { s.have.deadline = noon.Add(time.Duration(seconds) * time.Second) }
}

// runs is the node's status; the cluster may have heard of it.
func runs(heard bool) option {
	return func(s *scene) {
		s.have.object.Status.Phase = corev1.PodRunning
		if heard {
			s.want.Status = statusFor(s.want, s.have)
		}
	}
}

// heard gives the cluster the status that the node shows.
func heard(s *scene) { s.want.Status = statusFor(s.want, s.have) }

func gated(onNode corev1.ConditionStatus) option {
	return func(s *scene) {
		condition := func(status corev1.ConditionStatus) []corev1.PodCondition {
			return []corev1.PodCondition{{Type: "example.com/warm", Status: status}}
		}
		s.want.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/warm"}}
		s.want.Status.Conditions = condition(corev1.ConditionTrue)
		if onNode != "" {
			s.have.object.Status.Conditions = condition(onNode)
		}
		s.applied = fingerprint(s.want)
	}
}

func (s step) String() string {
	text := [...]string{"nothing", "apply", "remove", "vouch", "report", "forget", "mirror"}[s.verb]
	if s.uid != "" {
		text += " " + string(s.uid)
	}
	if s.grace != nil {
		text += fmt.Sprintf(" within %ds", *s.grace)
	}
	if s.verb == report {
		text += " " + string(s.status.Phase)
	}
	return text
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name  string
		sides sides
		want  string
	}{
		{"neither side has it", given(), "nothing"},
		{"a pod that is new", given(wanted("u1")), "apply u1"},
		{"one that finished elsewhere, or before the node was new", given(wanted("u1"), finishes), "nothing"},
		{"one that finished, to a process that is new", given(wanted("u1"), here("u1"), finishedHere, heard, unknown), "nothing"},
		{"one that finished here, of which the cluster has not heard, to a process that is new", given(wanted("u1"), here("u1"), finishedHere, unknown), "report u1 Succeeded"},
		{"one that finished, while something else of the cluster's has its name here", given(wanted("u2"), here("u1"), runs(true), finishes), "remove u1"},
		{"one that finished, while a foreign pod has its name here", given(wanted("u2"), finishes, here("u1"), foreign), "nothing"},
		{"one that a client ended in the cluster", given(wanted("u1"), finishes, here("u1"), runs(false)), "remove u1"},
		{"the same, when it ends here", given(wanted("u1"), finishes, here("u1"), runs(false), addressed, ends(30)), "report u1 Succeeded"},
		{"the same, when it is gone", given(wanted("u1"), finishes, here("u1"), runs(false), addressed, gone), "report u1 Succeeded"},
		{"one whose name a foreign pod has here", given(wanted("u2"), here("u1"), foreign), "report u2 Failed"},
		{"the same, when that ends", given(wanted("u2"), here("u1"), foreign, ends(30)), "nothing"},
		{"one of which the node says something new", given(wanted("u1"), here("u1"), runs(false)), "report u1 Running"},
		{"one that both sides agree on", given(wanted("u1"), here("u1"), runs(true)), "nothing"},
		{"one that was edited", given(wanted("u1"), here("u1"), runs(true), edited), "apply u1"},
		{"one that was deleted and made again under its name", given(wanted("u2"), here("u1"), runs(false)), "apply u2"},
		{"one whose gate was opened in the cluster", given(wanted("u1"), here("u1"), gated("")), "vouch u1"},
		{"one whose gate was opened again", given(wanted("u1"), here("u1"), gated(corev1.ConditionFalse)), "vouch u1"},
		{"one that has finished here, whose gate does not count any more", given(wanted("u1"), here("u1"), gated(""), finishedHere), "report u1 Succeeded"},

		{"one that is deleted", given(wanted("u1"), here("u1"), runs(true), deleted(30)), "remove u1 within 30s"},
		{"one that ends already", given(wanted("u1"), here("u1"), runs(true), deleted(30), ends(30)), "nothing"},
		{"one that ends already, and was edited since", given(wanted("u1"), here("u1"), runs(true), edited, deleted(30), ends(30)), "nothing"},
		{"one whose time was cut", given(wanted("u1"), here("u1"), runs(true), deleted(5), ends(600)), "remove u1 within 5s"},
		{"one that ends late, with a new status", given(wanted("u1"), here("u1"), runs(false), deleted(5), ends(600), told(5)), "report u1 Running"},
		{"one that ends late, and whose time was cut once more", given(wanted("u1"), here("u1"), runs(false), deleted(5), ends(600), told(30)), "remove u1 within 5s"},
		{"one whose end the cluster has not heard of", given(wanted("u1"), here("u1"), runs(true), deleted(30), gone), "report u1 Failed"},
		{"one of which nothing is left", given(wanted("u1"), deleted(30)), "forget u1"},
		{"one that the node never had, though another has its name there", given(wanted("u2"), here("u1"), deleted(30)), "forget u2"},
		{"one that others still hold", given(wanted("u1"), deleted(0), held), "nothing"},

		{"one that the cluster lost", given(here("u1")), "remove u1"},
		{"the same, when it ends already", given(here("u1"), ends(30)), "nothing"},
		{"the same, when it is gone", given(here("u1"), gone), "nothing"},

		{"one that was never the cluster's", given(here("u1"), foreign), "mirror u1"},
		{"one that was never the cluster's, and ends", given(here("u1"), foreign, ends(30)), "nothing"},
		{"a mirror of which the node says something new", given(wanted("m1"), here("u1"), foreign, mirrors("u1"), runs(false)), "report m1 Running"},
		{"a mirror that shows what is", given(wanted("m1"), here("u1"), foreign, mirrors("u1"), runs(true)), "nothing"},
		{"a mirror of a pod that is gone", given(wanted("m1"), mirrors("u1")), "forget m1"},
		{"a mirror of another pod of the name", given(wanted("m1"), here("u2"), foreign, mirrors("u1")), "forget m1"},
		{"a mirror that a client deleted", given(wanted("m1"), here("u1"), foreign, mirrors("u1"), runs(true), deleted(30)), "forget m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := next(c.sides).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestReportsConverge: a status that the cluster has taken is not sent again.
func TestReportsConverge(t *testing.T) {
	for _, s := range []sides{
		given(wanted("u1"), here("u1"), runs(false)),
		given(wanted("u1"), here("u1"), runs(false), gone, deleted(30)),
		given(wanted("u1"), here("u1"), runs(false), gated(corev1.ConditionTrue)),
	} {
		first := next(s)
		if first.verb != report {
			t.Fatalf("the first step is %s, want a report", first)
		}
		s.want.Status = first.status
		if second := next(s); second.verb == report {
			t.Errorf("after %+v comes the report %+v", first.status, second.status)
		}
	}
}
