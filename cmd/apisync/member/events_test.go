package member

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
)

func someEvents() *events {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first"}}, Containers: []corev1.Container{{Name: "main"}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "look"}}},
	}}
	return &events{nodeName: "n", told: map[string]*rate.Limiter{}, pod: func(types.NamespacedName) *corev1.Pod { return pod }}
}

func started(container string) *nodev1.Event {
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	return &nodev1.Event{Namespace: "d", Name: "p", Uid: "u", Container: container, Reason: "Started", Count: 1, Time: at, FirstTime: at}
}

func TestWhatAnEventIsAbout(t *testing.T) {
	for _, c := range []struct{ name, container, want string }{
		{"a container", "main", "spec.containers{main}"},
		{"an init container", "first", "spec.initContainers{first}"},
		{"an ephemeral container", "look", "spec.ephemeralContainers{look}"},
		{"the pod", "", ""},
	} {
		if got := someEvents().eventOf(started(c.container)).InvolvedObject; got.FieldPath != c.want || got.Kind != "Pod" || got.UID != "u" {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
	node := someEvents().eventOf(&nodev1.Event{Reason: "ImageRemoved"})
	if about := node.InvolvedObject; about.Kind != "Node" || about.Name != "n" || node.Namespace != "default" {
		t.Errorf("an event of the node is about %+v, in %q", about, node.Namespace)
	}
}

func TestAnEventKeepsItsNameAsItHappensAgain(t *testing.T) {
	first, again := started("main"), started("main")
	again.Count, again.Time = 7, timestamppb.New(time.Unix(1_700_000_100, 0))
	e := someEvents()
	a, b := e.eventOf(first), e.eventOf(again)
	if a.Name != b.Name || b.Count != 7 || !b.LastTimestamp.After(a.LastTimestamp.Time) {
		t.Errorf("got %s %d, then %s %d", a.Name, a.Count, b.Name, b.Count)
	}
	other := started("main")
	other.Message = "another"
	if c := e.eventOf(other); c.Name == a.Name {
		t.Errorf("two events have the name %s", c.Name)
	}
}

func TestAPodIsHeldToItsNumberOfEvents(t *testing.T) {
	e, told := someEvents(), 0
	for range 100 {
		if e.mayTell(started("main")) {
			told++
		}
	}
	if told != tellAtOnce {
		t.Errorf("%d events of one pod were told, want %d", told, tellAtOnce)
	}
	other := started("main")
	other.Uid = "v"
	if !e.mayTell(other) {
		t.Error("another pod has to be silent for it")
	}
}
