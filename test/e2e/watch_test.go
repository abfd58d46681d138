package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"nodal/test/claim"
	"nodal/test/pace"
)

// tail is a curl that reads a stream.
type tail struct {
	n     *node
	lines *bufio.Scanner
}

// follow opens a stream with curl until the test ends. The test may wait long between two reads.
func (n *node) follow(path string, args ...string) *tail {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(5*patience))
	cmd := exec.CommandContext(ctx, "curl", append(args, "-sSN", "--unix-socket", n.Socket, "http://localhost"+path)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		cancel()
		io.Copy(io.Discard, out)
		cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &tail{n, lines}
}

// until reads lines until one contains the text, and returns that line.
func (s *tail) until(text string) string {
	s.n.t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return s.lines.Text()
		}
	}
	s.n.t.Fatalf("the stream ended without %q: %v", text, s.lines.Err())
	return ""
}

type watchMessage struct {
	Type     string
	Revision string
	Pod      struct{ Name, Phase string }
}

func (s *tail) message(text string) watchMessage {
	s.n.t.Helper()
	var m watchMessage
	if err := json.Unmarshal([]byte(s.until(text)), &m); err != nil {
		s.n.t.Fatal(err)
	}
	return m
}

func TestWatchSendsPresentStateThenChangesAndResumes(t *testing.T) {
	claim.Shows(t, "Status and events", "a watch sends the present state, a marker, then each change, and resumes after a revision")
	n := start(t)
	n.apply(web("first").yaml())
	n.waitRunning("first")
	lines := n.follow("/v1/pods:watch")
	if got := lines.message(`"first"`); got.Type != "WATCH_TYPE_ADDED" || got.Pod.Phase != "POD_PHASE_RUNNING" {
		t.Errorf("the first message is %+v, want the running pod", got)
	}
	synced := lines.message("WATCH_TYPE_SYNCED")
	n.apply(web("second").yaml())
	if got := lines.message(`"second"`); got.Type != "WATCH_TYPE_ADDED" {
		t.Errorf("a new pod is sent as %s", got.Type)
	}
	n.deletePod("second", "")
	gone := lines.message("WATCH_TYPE_DELETED")
	if gone.Pod.Name != "second" {
		t.Errorf("the deleted pod is %+v, want second", gone)
	}
	resumed := n.follow("/v1/pods:watch?sinceRevision=" + synced.Revision)
	if got := resumed.message(`"second"`); got.Type != "WATCH_TYPE_DELETED" {
		t.Errorf("resumed after %s the watch sends %+v, want the missed changes", synced.Revision, got)
	}
}

func TestWatchAsServerSentEventsResumesByID(t *testing.T) {
	claim.Shows(t, "Status and events", "a watch as server-sent events resumes by the last event's id")
	n := start(t)
	n.apply(web("seen").yaml())
	n.waitRunning("seen")
	events := n.follow("/v1/pods:watch", "-H", "Accept: text/event-stream")
	id := strings.TrimPrefix(events.until("id: "), "id: ")
	events.until("event: ADDED")
	events.until(`"seen"`)
	events.until("event: SYNCED")
	resumed := n.follow("/v1/pods:watch", "-H", "Accept: text/event-stream", "-H", "Last-Event-ID: "+id)
	for event := ""; event != "event: SYNCED"; {
		at := resumed.until("id: ")
		if event = resumed.until("event: "); event != "event: SYNCED" && at == "id: "+id {
			t.Errorf("resumed after %s the watch repeats it: %s", id, event)
		}
	}
	n.apply(web("news").yaml())
	resumed.until("event: ADDED")
	resumed.until(`"news"`)
}

func TestWatchOfAnUnknownRevisionIsGone(t *testing.T) {
	claim.Shows(t, "Status and events", "a watch from an unknown revision is answered 410, and OutOfRange over gRPC")
	n := start(t)
	for _, path := range []string{"/v1/pods:watch", "/v1/events:watch"} {
		if got := n.curl(path+"?sinceRevision=999999999999", "--max-time", "5"); got.code != 410 {
			t.Errorf("%s: got %s, want 410", path, got)
		}
	}
	if got := n.grpcurl("node.v1.PodsService/WatchPods", `{"since_revision": "999999999999"}`); !strings.Contains(got.body, "OutOfRange") {
		t.Errorf("over gRPC: got %s, want OutOfRange", got)
	}
}

func TestEventsAndTimelineShowWhatHappened(t *testing.T) {
	claim.Shows(t, "Status and events", "events and a timeline show what happened to a pod, even after its deletion")
	n := start(t)
	events := n.follow("/v1/events:watch?namespace=default&name=story")
	p := web("story")
	p.init = []program{{name: "prologue", args: []string{"exit", "0"}}}
	n.apply(p.yaml())
	for _, reason := range []string{"Pulled", "Created", "Started", "Ready"} {
		events.until(fmt.Sprintf(`"reason":%q`, reason))
	}
	var listed struct {
		Events []struct{ Reason, Name, Container string }
	}
	n.curl("/v1/events?namespace=default&name=story").into(n, &listed)
	started := 0
	for _, e := range listed.Events {
		if e.Reason == "Started" {
			started++
		}
	}
	if started != 2 {
		t.Errorf("the events are %+v, want two containers started", listed.Events)
	}
	var timeline struct {
		Steps []struct{ What, Time, SinceAccepted, Took, Container string }
	}
	n.curl("/v1/namespaces/default/pods/story/timeline").into(n, &timeline)
	if len(timeline.Steps) < 6 || timeline.Steps[0].What != "Accepted" || timeline.Steps[len(timeline.Steps)-1].What != "Ready" {
		t.Errorf("the timeline is %+v, want it from Accepted to Ready", timeline.Steps)
	}
	for _, step := range timeline.Steps {
		if step.Time == "" || step.SinceAccepted == "" {
			t.Errorf("step %+v lacks its time", step)
		}
	}
	n.deletePod("story", "")
	if got := n.curl("/v1/namespaces/default/pods/story/timeline"); !strings.Contains(got.body, "Killing") {
		t.Errorf("after the deletion the timeline is %s, want Killing in it", got)
	}
}
