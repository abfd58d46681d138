package workload

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/workload/decide"
)

// refuser is a node that answers each call with an error; nil if it takes all.
type refuser struct {
	grpc.ClientConnInterface
	err error
}

func (n *refuser) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return n.err }

func TestWhyAPodCannotBeMadeIsLoggedOnce(t *testing.T) {
	var text strings.Builder
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	api := &refuser{}
	r := New(Config{API: api, Clock: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&text, nil))})
	makePod := decide.Change{Do: decide.MakePod, For: "u1", Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work-x"}}}
	for _, step := range []struct {
		why    string // none if the pod is made
		warned int    // from the beginning on
	}{
		{"the node is cordoned", 1},
		{"the node is cordoned", 1},
		{"a field is wrong", 2},
		{"", 2},
		{"a field is wrong", 3},
	} {
		api.err = nil
		if step.why != "" {
			api.err = status.Error(codes.FailedPrecondition, step.why)
		}
		for range 3 {
			r.do(t.Context(), makePod) // the others of a plan
		}
		if got := strings.Count(text.String(), "level=WARN"); got != step.warned || !strings.Contains(text.String(), step.why) {
			t.Errorf("%q: there are %d warnings, want %d:\n%s", step.why, got, step.warned, text.String())
		}
		if why := r.trouble["u1"].why; why != step.why {
			t.Errorf("the trouble is %q, want %q", why, step.why)
		}
		now = now.Add(sulk)
	}
}

// A slice whose label others took away has the name of the one that is wanted, and no look shows it.
func TestAnObjectWhoseNameIsTakenIsTriedAgainLater(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	r := New(Config{API: &refuser{err: status.Error(codes.Aborted, "it is there")}, Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-x", ResourceVersion: "1"}}
	for deed, want := range map[decide.Deed]time.Duration{decide.MakeObject: sulk, decide.ChangeObject: gap} {
		if again := r.do(t.Context(), decide.Change{Do: deed, Value: slice}); !again.Equal(now.Add(want)) {
			t.Errorf("%s: again after %s, want %s", deed, again.Sub(now), want)
		}
	}
}
