package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

const (
	logsPath    = "/v1/namespaces/default/pods/web/containers/main/logs"
	kubeletLogs = "/containerLogs/default/web/main"
)

func TestTheLogIsThatOfTheRightRun(t *testing.T) {
	running, exited, created := node.ContainerRunning, node.ContainerExited, node.ContainerCreated
	cases := []struct {
		name     string
		runs     []node.ContainerState
		previous bool
		attempt  uint32
		code     int // of the API
		kubelet  int
	}{
		{"a container that runs", []node.ContainerState{running}, false, 0, 200, 200},
		{"the present run of a restarted container", []node.ContainerState{exited, running}, false, 1, 200, 200},
		{"the run before", []node.ContainerState{exited, running}, true, 0, 200, 200},
		{"the last run while the next is being made", []node.ContainerState{exited, created}, false, 0, 200, 200},
		{"the last run, as the one before the next", []node.ContainerState{exited, created}, true, 0, 200, 200},
		{"a container that waits", []node.ContainerState{created}, false, 0, 503, 400},
		{"a run before the first", []node.ContainerState{running}, true, 0, 404, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t)
			n.apply(t, manifestOf("web"))
			n.run(t, "web", c.runs...)
			query := ""
			if c.previous {
				query = "?previous=true"
			}
			for path, want := range map[string]int{logsPath: c.code, kubeletLogs: c.kubelet} {
				got := n.do(t, "GET", path+query, "")
				if got.status != want {
					t.Fatalf("%s: got %d %s, want %d", path, got.status, got.body, want)
				}
				if want == 200 && (got.body != "hello\n" || n.logs.run.Attempt != c.attempt) {
					t.Errorf("%s: got %q of attempt %d, want attempt %d", path, got.body, n.logs.run.Attempt, c.attempt)
				}
			}
		})
	}
}

func TestLogOptionsOfTheAPI(t *testing.T) {
	seven := int64(7)
	cases := []struct {
		path, query string
		code        int
		want        node.LogOptions
	}{
		{logsPath, "tailLines=7&stream=LOG_STREAM_STDOUT", 200, node.LogOptions{Tail: &seven, Stream: node.LogStdout}},
		{logsPath, "sinceSeconds=7", 200, node.LogOptions{Since: testNow.Add(-7 * time.Second)}},
		{logsPath, "sinceTime=2026-05-01T11:00:00Z&timestamps=true", 200, node.LogOptions{Since: testNow.Add(-time.Hour), Timestamps: true}},
		{logsPath, "tailLines=-1", 400, node.LogOptions{}},
		{logsPath, "limitBytes=0", 400, node.LogOptions{}},
		{logsPath, "sinceSeconds=1&sinceTime=2026-05-01T11:00:00Z", 400, node.LogOptions{}},
	}
	for _, c := range cases {
		t.Run(c.path+"?"+c.query, func(t *testing.T) {
			n := newNode(t)
			n.apply(t, manifestOf("web"))
			n.run(t, "web", node.ContainerRunning)
			if got := n.do(t, "GET", c.path+"?"+c.query, ""); got.status != c.code {
				t.Fatalf("got %d %s, want %d", got.status, got.body, c.code)
			}
			got := n.logs.options
			same := equal(got.Tail, c.want.Tail) && equal(got.LimitBytes, c.want.LimitBytes) &&
				got.Since.Equal(c.want.Since) && got.Timestamps == c.want.Timestamps && got.Stream == c.want.Stream
			if !same {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func equal(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func TestALogThatCannotBeOpenedIsAnErrorAndNoEmptyLog(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.logs.shut = fmt.Errorf("open log %q: it is a symbolic link: %w", "0.log", node.ErrInvalid)
	for _, path := range []string{kubeletLogs, kubeletLogs + "?follow=true", logsPath, logsPath + "?follow=true"} {
		if got := n.do(t, "GET", path, ""); got.status != 400 || !strings.Contains(got.body, "symbolic link") {
			t.Errorf("%s: got %d %q, want 400 and why", path, got.status, got.body)
		}
	}
}

func TestAFollowedLogComesAsItIsWrittenAndEndsWithTheContainer(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	lines := make(chan string)
	n.logs.read = func(ctx context.Context, o node.LogOptions, sink node.LogSink) error {
		for {
			select {
			case line := <-lines:
				if _, err := io.WriteString(sink, line); err != nil {
					return err
				}
				if err := sink.Flush(); err != nil {
					return err
				}
			case <-o.Exited:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	for _, path := range []string{logsPath, kubeletLogs} {
		n.run(t, "web", node.ContainerRunning)
		response, err := front.Client().Get(front.URL + path + "?follow=true")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got := response.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s: content type %q", path, got)
		}
		lines <- "one\n"
		first := make([]byte, 4)
		if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "one\n" {
			t.Errorf("%s: got %q, %v", path, first, err)
		}
		n.run(t, "web", node.ContainerExited)
		if rest, err := io.ReadAll(response.Body); err != nil || len(rest) != 0 {
			t.Errorf("%s: after the end got %q, %v", path, rest, err)
		}
	}
}

func TestALogThatBreaksOffDoesNotLookComplete(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.logs.read = func(_ context.Context, _ node.LogOptions, sink node.LogSink) error {
		if _, err := io.WriteString(sink, "half"); err != nil {
			return err
		}
		return errors.New("the disk is gone")
	}
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	for _, path := range []string{logsPath, kubeletLogs} {
		response, err := front.Client().Get(front.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%s: the answer ends as if it were whole", path)
		}
		response.Body.Close()
	}
}

func TestAFollowedLogEndsWithTheServer(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.logs.read = func(ctx context.Context, _ node.LogOptions, _ node.LogSink) error {
		<-ctx.Done()
		return ctx.Err()
	}
	stream, err := nodev1.NewLogsServiceClient(n.dial(t)).ReadLogs(t.Context(), &nodev1.ReadLogsRequest{
		Namespace: "default", Name: "web", Container: "main", Follow: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("first message: %v", err)
	}
	n.server.Stop()
	if _, err := stream.Recv(); err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("got %v, want that the agent is stopping", err)
	}
}

// discard is a client that reads everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) Flush()                      {}

func benchmarkLogs(b *testing.B, path string) {
	n := newNode(b)
	n.apply(b, manifestOf("web"))
	n.run(b, "web", node.ContainerRunning)
	batch := bytes.Repeat([]byte("a line of a log that is neither long nor short\n"), 128<<10/47)
	const size = 256 << 20
	n.logs.read = func(_ context.Context, _ node.LogOptions, sink node.LogSink) error {
		for sent := 0; sent < size; sent += len(batch) {
			if _, err := sink.Write(batch); err != nil {
				return err
			}
		}
		return sink.Flush()
	}
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	b.SetBytes(size)
	for b.Loop() {
		response, err := front.Client().Get(front.URL + path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(&discard{}, response.Body); err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
	}
}

func BenchmarkContainerLogs(b *testing.B) { benchmarkLogs(b, kubeletLogs) }
func BenchmarkLogsOverREST(b *testing.B)  { benchmarkLogs(b, logsPath) }

// keptLog is a file of a run that was removed, or of a deleted pod.
func keptLog(namespace, name string, uid types.UID, attempt uint32, age time.Duration) node.LogFile {
	run := node.LogRun{Key: node.Key{Namespace: namespace, Name: name}, UID: uid, Container: "main", Attempt: attempt, Kept: true}
	return node.LogFile{Run: run, Bytes: 100, Written: testNow.Add(-age)}
}

func TestLogsOfRemovedRunsAreReadByUIDAndAttempt(t *testing.T) {
	type want struct {
		attempt uint32
		uid     string // "present" for that of the pod
		kept    bool
	}
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerExited, node.ContainerRunning)
	view, _ := n.store.View(node.Key{Namespace: "default", Name: "web"})
	uid := view.Slot.Pod.UID()
	n.logs.files = []node.LogFile{
		keptLog("default", "web", "old", 3, time.Hour), keptLog("default", "web", "old", 4, time.Hour),
		keptLog("default", "gone", "gone-uid", 0, time.Hour), keptLog("default", "web", uid, 1, time.Hour),
		keptLog("other", "web", "theirs", 0, time.Hour),
	}
	for _, c := range []struct {
		name, query string
		pod         string
		code        int
		want        want
	}{
		{"a run of the present pod", "attempt=0", "web", 200, want{0, "present", false}},
		{"its newest run", "uid=" + string(uid), "web", 200, want{1, "present", false}},
		{"what is kept under its UID from before", "kept=true&attempt=1", "web", 200, want{1, "present", true}},
		{"a run that the runtime no longer has", "attempt=7", "web", 404, want{}},
		{"the newest run of a pod before it", "uid=old", "web", 200, want{4, "old", true}},
		{"an earlier run of that", "uid=old&attempt=3&tailLines=5", "web", 200, want{3, "old", true}},
		{"a pod that is deleted", "uid=gone-uid", "gone", 200, want{0, "gone-uid", true}},
		{"a name that is deleted, without a UID", "attempt=0", "gone", 404, want{}},
		{"the UID of another namespace's pod", "uid=theirs", "web", 404, want{}},
		{"the UID of another pod", "uid=gone-uid", "web", 404, want{}},
		{"a file of a pod that this node does not know", "uid=unknown", "web", 404, want{}},
		{"a run before the first", "attempt=-1", "web", 400, want{}},
		{"two ways to say which run", "uid=old&previous=true", "web", 400, want{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.logs.run = node.LogRun{}
			got := n.do(t, "GET", "/v1/namespaces/default/pods/"+c.pod+"/containers/main/logs?"+c.query, "")
			if got.status != c.code {
				t.Fatalf("got %d %s, want %d", got.status, got.body, c.code)
			}
			if c.want.uid == "present" {
				c.want.uid = string(uid)
			}
			run := n.logs.run
			if c.code == 200 && (want{run.Attempt, string(run.UID), run.Kept}) != c.want {
				t.Errorf("read %+v, want %+v", run, c.want)
			}
			if c.code == 404 && !strings.Contains(got.body, "/v1/logs") {
				t.Errorf("got %s, want where logs are listed", got.body)
			}
		})
	}
}

// The runtime makes the file before the run begins: what is read then is not all of it.
func TestARunThatIsAboutToBeginHasNoLogYet(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []node.ContainerState
		ask  uint32
		code int
	}{
		{"its container is made", []node.ContainerState{node.ContainerExited, node.ContainerCreated}, 1, 404},
		{"its container is the first", []node.ContainerState{node.ContainerCreated}, 0, 404},
		{"its container is being made", []node.ContainerState{node.ContainerExited}, 1, 404},
		{"it runs", []node.ContainerState{node.ContainerExited, node.ContainerRunning}, 1, 200},
		{"the run before it", []node.ContainerState{node.ContainerExited, node.ContainerCreated}, 0, 200},
		{"the containers are gone", nil, 1, 200},
	} {
		n := newNode(t)
		n.apply(t, manifestOf("web"))
		n.run(t, "web", c.runs...)
		view, _ := n.store.View(node.Key{Namespace: "default", Name: "web"})
		file := keptLog("default", "web", view.Slot.Pod.UID(), c.ask, 0)
		file.Run.Kept = false
		n.logs.files = []node.LogFile{file}
		got := n.do(t, "GET", fmt.Sprintf("/v1/namespaces/default/pods/web/containers/main/logs?attempt=%d", c.ask), "")
		if got.status != c.code {
			t.Errorf("%s: got %d %s, want %d", c.name, got.status, got.body, c.code)
		}
	}
}

func TestAKeptLogThatIsFollowedEnds(t *testing.T) {
	n := newNode(t)
	n.logs.files = []node.LogFile{keptLog("default", "gone", "gone-uid", 0, time.Hour)}
	n.logs.read = func(ctx context.Context, o node.LogOptions, _ node.LogSink) error {
		select {
		case <-o.Exited:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if got := n.do(t, "GET", "/v1/namespaces/default/pods/gone/containers/main/logs?uid=gone-uid&follow=true", ""); got.status != 200 {
		t.Errorf("got %d %s, want 200", got.status, got.body)
	}
}

func TestLogsAreListedOfDeletedPodsToo(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	old := keptLog("default", "gone", "gone-uid", 0, 2*time.Hour)
	n.logs.files = []node.LogFile{keptLog("default", "gone", "gone-uid", 0, time.Hour), old, keptLog("other", "db", "db-uid", 2, time.Minute)}
	for _, c := range []struct {
		path string
		want []string // in this order
		none string
	}{
		{"/v1/logs", []string{`"name":"gone"`, `"uid":"gone-uid"`, `"bytes":"200"`, `"writtenAt":"2026-05-01T11:00:00Z"`, `"kept":true`, `"deleted":true`,
			`"name":"db"`, `"attempt":2`, `"name":"web"`, `"bytes":"4096"`}, ""},
		{"/v1/namespaces/other/logs", []string{`"name":"db"`}, "default"},
		{"/v1/namespaces/default/logs?name=web", []string{`"name":"web"`}, "gone"},
		{"/v1/namespaces/none/logs", []string{`{}`}, "uid"},
	} {
		got := n.do(t, "GET", c.path, "")
		rest := got.body
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if got.status != 200 || !ok {
				t.Fatalf("%s: got %d %s, want %s after what comes before it", c.path, got.status, got.body, want)
			}
			rest = after
		}
		if c.none != "" && strings.Contains(got.body, c.none) {
			t.Errorf("%s: got %s, want nothing of %s", c.path, got.body, c.none)
		}
	}
	n.logs.lost = errors.New("the disk is away")
	for _, path := range []string{"/v1/logs", logsPath + "?uid=gone-uid"} {
		if got := n.do(t, "GET", path, ""); got.status != 500 {
			t.Errorf("%s: got %d %s, want 500", path, got.status, got.body)
		}
	}
}
