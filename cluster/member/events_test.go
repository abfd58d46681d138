package member

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	nodev1 "nodal/api/gen/node/v1"
)

func someEvents() *events {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first"}}, Containers: []corev1.Container{{Name: "main"}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "look"}}},
	}}
	return &events{
		reporter: reporter{nodeName: "n"}, limiters: map[string]*rate.Limiter{},
		pod: func(types.NamespacedName) *corev1.Pod { return pod },
	}
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
		if got := someEvents().event(started(c.container)).InvolvedObject; got.FieldPath != c.want || got.Kind != "Pod" || got.UID != "u" {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
	node := someEvents().event(&nodev1.Event{Reason: "ImageRemoved"})
	if about := node.InvolvedObject; about.Kind != "Node" || about.Name != "n" || node.Namespace != "default" {
		t.Errorf("an event of the node is about %+v, in %q", about, node.Namespace)
	}
}

func TestAnEventKeepsItsNameAsItHappensAgain(t *testing.T) {
	first, again := started("main"), started("main")
	again.Count, again.Time = 7, timestamppb.New(time.Unix(1_700_000_100, 0))
	e := someEvents()
	a, b := e.event(first), e.event(again)
	if a.Name != b.Name || b.Count != 7 || !b.LastTimestamp.After(a.LastTimestamp.Time) {
		t.Errorf("got %s %d, then %s %d", a.Name, a.Count, b.Name, b.Count)
	}
	other := started("main")
	other.Message = "another"
	if c := e.event(other); c.Name == a.Name {
		t.Errorf("two events have the name %s", c.Name)
	}
}

func TestEventsOfAPodWithALongNameHaveNamesThatTheClusterTakes(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"web", "web"},
		{strings.Repeat("a", 236), strings.Repeat("a", 236)},
		{strings.Repeat("a", 253), strings.Repeat("a", 236)},
		{strings.Repeat("a", 234) + "--" + strings.Repeat("b", 17), strings.Repeat("a", 234)},
		{strings.Repeat("a", 235) + "." + strings.Repeat("b", 17), strings.Repeat("a", 235)},
	} {
		m := started("main")
		m.Name = c.name
		event := someEvents().event(m)
		begin := event.Name[:strings.LastIndex(event.Name, ".")]
		if wrong := validation.IsDNS1123Subdomain(event.Name); len(wrong) > 0 || begin != c.want || event.InvolvedObject.Name != c.name {
			t.Errorf("an event of %s is called %s: %q", c.name, event.Name, wrong)
		}
	}
}

// eventsAt tells events to an API server.
func eventsAt(t *testing.T, server apiServer) *events {
	e := someEvents()
	e.cluster, e.pace, e.log = server.dial(t), rate.NewLimiter(rate.Inf, 0), slog.New(slog.DiscardHandler)
	return e
}

func numbered(uid string, i int) *nodev1.Event {
	e := started("main")
	e.Uid, e.Message = uid, fmt.Sprint(i)
	e.Time = timestamppb.Now()
	return e
}

var anEvent = corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}}

func TestAPodIsHeldToItsNumberOfEvents(t *testing.T) {
	asked := 0
	e := eventsAt(t, func(*http.Request) (int, any, error) { asked++; return http.StatusCreated, anEvent, nil })
	tell := func(uid string, i int) {
		if err := e.carry(t.Context(), numbered(uid, i)); err != nil {
			t.Error(err)
		}
	}
	for i := range 100 {
		tell("u", i)
	}
	if asked != podEventBurst {
		t.Errorf("%d events of one pod were told, want %d", asked, podEventBurst)
	}
	tell("v", 0)
	if asked != podEventBurst+1 {
		t.Error("another pod has to be silent for it")
	}
}

func TestEventsRepeatedAfterARestartDoNotUseUpAPodsBudget(t *testing.T) {
	var asked []string
	known := true
	e := eventsAt(t, func(r *http.Request) (int, any, error) {
		asked = append(asked, r.Method)
		if known && r.Method == http.MethodPost {
			return http.StatusConflict, refused(http.StatusConflict, metav1.StatusReasonAlreadyExists), nil
		}
		return http.StatusOK, anEvent, nil
	})
	e.repeats = true
	old := numbered("u", 0)
	old.Time = timestamppb.New(time.Now().Add(-2 * eventLife))
	for i := range 2 * podEventBurst {
		if err := errors.Join(e.carry(t.Context(), numbered("u", i)), e.carry(t.Context(), old)); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 4*podEventBurst {
		t.Errorf("the API server was asked %d times, want twice for each event that it may know", len(asked))
	}
	known, asked = false, nil
	if err := e.carry(t.Context(), numbered("u", 1000)); err != nil || len(asked) != 1 {
		t.Errorf("what is new is told by %q, %v", asked, err)
	}
}

func TestAnEventThatTheClusterWillNeverTakeIsGivenUp(t *testing.T) {
	for code, want := range map[int]bool{
		http.StatusBadRequest: false, http.StatusForbidden: false, http.StatusRequestEntityTooLarge: false, http.StatusUnprocessableEntity: false,
		http.StatusUnauthorized: true, http.StatusTooManyRequests: true, http.StatusInternalServerError: true,
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			reason := map[int]metav1.StatusReason{
				http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
			}[code]
			e := eventsAt(t, func(*http.Request) (int, any, error) { return code, refused(code, reason), nil })
			if _, err := e.send(t.Context(), e.event(started("main"))); (err != nil) != want {
				t.Errorf("got %v, want to try it again: %t", err, want)
			}
		})
	}
}

func TestOwnEventsDelayOthersOnlyBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := eventsAt(t, func(r *http.Request) (int, any, error) {
			<-r.Context().Done() // it never answers
			return 0, nil, r.Context().Err()
		})
		began := time.Now()
		e.inform(t.Context(), false, "Starting", "")
		if took := time.Since(began); took > reportTimeout {
			t.Errorf("it took %s, want at most %s", took, reportTimeout)
		}
	})
}
