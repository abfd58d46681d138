package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

func (n *node1) happen(name, reason string, after time.Duration) {
	n.events.Add(node.Event{
		Key: node.Key{Namespace: "default", Name: name}, UID: "uid-1", Reason: reason, Time: testNow.Add(after), Container: "main", Took: time.Second,
	})
}

func TestEventsAreListedAndWatched(t *testing.T) {
	n := newNode(t)
	n.happen("web", "Pulled", time.Second)
	n.happen("other", "Pulled", time.Second)
	if got := n.do(t, "GET", "/v1/events?namespace=default&name=web", ""); strings.Count(got.body, "Pulled") != 1 {
		t.Errorf("list: got %s, want the one event of web", got.body)
	}
	client := nodev1.NewEventsServiceClient(n.dial(t))
	stream, err := client.WatchEvents(t.Context(), &nodev1.WatchEventsRequest{Namespace: "default", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var at int64
	for range 3 {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, m.GetEvent().GetReason()); m.GetEvent() == nil {
			at = m.GetRevision()
			n.happen("other", "Started", 2*time.Second)
			n.happen("web", "Started", 2*time.Second)
		}
	}
	if want := []string{"Pulled", "", "Started"}; !slices.Equal(got, want) {
		t.Errorf("watch: got %q, want %q", got, want)
	}
	resumed, err := client.WatchEvents(t.Context(), &nodev1.WatchEventsRequest{Namespace: "default", Name: "web", SinceRevision: at})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := resumed.Recv(); err != nil || m.GetEvent().GetReason() != "Started" {
		t.Errorf("resume: got %v, %v, want what came after", m, err)
	}
	ahead, err := client.WatchEvents(t.Context(), &nodev1.WatchEventsRequest{SinceRevision: at + 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ahead.Recv(); status.Code(err) != codes.OutOfRange {
		t.Errorf("a revision from the future: got %v, want OutOfRange", err)
	}
}

// steps returns a timeline, in short.
func steps(t *testing.T, n *node1) []string {
	t.Helper()
	got, err := nodev1.NewEventsServiceClient(n.dial(t)).GetTimeline(t.Context(), &nodev1.GetTimelineRequest{Namespace: "default", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, step := range got.GetSteps() {
		all = append(all, step.GetWhat()+" "+step.GetSinceAccepted().AsDuration().String())
	}
	return all
}

func TestATimelineShowsEachStepWithItsTime(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.happen("web", "SandboxCreated", 500*time.Millisecond)
	n.happen("web", "Started", 3*time.Second)
	n.run(t, "web", node.ContainerRunning)
	want := []string{"Accepted 0s", "SandboxCreated 500ms", "Started 3s"}
	if got := steps(t, n); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestATimelineAfterARestartComesFromTheRuntime(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerExited)
	n.happen("web", "Exited", time.Hour) // found by the new agent
	n.happen("web", "Restarting", time.Hour)
	want := []string{"Accepted 0s", "SandboxCreated 1s", "Created 2s", "Started 3s", "Exited 4s", "Restarting 1h0m0s"}
	if got := steps(t, n); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestATimelineFillsTheGapOfARestart has an agent that was killed before it kept what it did last.
func TestATimelineFillsTheGapOfARestart(t *testing.T) {
	n := newNode(t)
	kept := node.Event{
		Revision: 1, Key: node.Key{Namespace: "default", Name: "web"}, UID: "uid-1", Reason: "SandboxCreated", Time: testNow.Add(1500 * time.Millisecond), First: testNow, Count: 1,
	}
	n.events.Restore(store.KeptEvents{Events: []node.Event{kept}}, testNow.Add(time.Minute))
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerExited)
	n.happen("web", "Exited", time.Hour) // found by the new agent
	want := []string{"Accepted 0s", "SandboxCreated 1.5s", "Created 2s", "Started 3s", "Exited 4s"}
	if got := steps(t, n); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestATimelineIsOfThePodThatIsMeant(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	for i, uid := range []types.UID{"old", "late", "old"} {
		n.events.Add(node.Event{
			Key: node.Key{Namespace: "default", Name: "web"}, UID: uid, Reason: "Killing", Message: string(uid), Time: testNow.Add(time.Duration(i) * time.Second),
		})
	}
	for uid, want := range map[string]string{"old": `"sinceAccepted":"2s"`, "late": `"sinceAccepted":"0s"`, "": "Accepted"} {
		got := n.do(t, "GET", "/v1/namespaces/default/pods/web/timeline?uid="+uid, "")
		body := strings.ReplaceAll(got.body, ", ", ",")
		if got.status != 200 || !strings.Contains(body, want) || strings.Contains(body, "Killing") != (uid != "") {
			t.Errorf("%q: got %d %s, want %s", uid, got.status, body, want)
		}
	}
	if got := n.do(t, "GET", "/v1/namespaces/default/pods/web/timeline?uid=never", ""); got.status != 404 {
		t.Errorf("a pod that was never there: got %d %s, want 404", got.status, got.body)
	}
}

func TestATimelineOutlivesItsPod(t *testing.T) {
	n := newNode(t)
	if got := n.do(t, "GET", "/v1/namespaces/default/pods/web/timeline", ""); got.status != 404 {
		t.Errorf("a pod nobody ever saw: got %d %s, want 404", got.status, got.body)
	}
	n.happen("web", "Killing", time.Second)
	n.happen("web", "Removed", 2*time.Second)
	if got, want := steps(t, n), []string{"Killing 0s", "Removed 1s"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheNodeDescribesItself(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.sources.Delivered(node.SourceFile, testNow, map[string]store.SourceError{
		"/etc/pods/bad.yaml": {Origin: "/etc/pods/bad.yaml", Message: "no pod", Time: testNow},
	})
	asked := 0
	n.runtime.status = func(context.Context) (node.RuntimeStatus, error) {
		asked++
		return node.RuntimeStatus{}, errors.New("nobody is there")
	}
	client := nodev1.NewNodeServiceClient(n.dial(t))
	for range 2 {
		got, err := client.GetNode(t.Context(), &nodev1.GetNodeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if p := got.GetPods(); got.GetName() != "node1" || p.GetTotal() != 1 || p.GetRunning() != 1 || p.GetReady() != 1 {
			t.Errorf("got %v", got)
		}
		if s := got.GetSources()[0]; !s.GetReady() || s.GetErrors()[0].GetMessage() != "no pod" {
			t.Errorf("source: got %v", s)
		}
		if r := got.GetRuntime(); r.GetReady() || r.GetMessage() != "nobody is there" {
			t.Errorf("runtime: got %v", r)
		}
	}
	if asked != 1 {
		t.Errorf("the runtime was asked %d times within a moment, want once", asked)
	}
	capabilities, err := client.ListCapabilities(t.Context(), &nodev1.ListCapabilitiesRequest{})
	if err != nil || len(capabilities.GetCapabilities()) == 0 {
		t.Errorf("capabilities: got %v, %v", capabilities, err)
	}
}
