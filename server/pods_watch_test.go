package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// podWatch reads a watch message by message, in short: "ADDED web uid-1".
type podWatch struct {
	t      *testing.T
	recv   func() (*nodev1.WatchPodsResponse, error)
	last   int64
	cancel context.CancelFunc
}

func (n *node1) watch(t *testing.T, client nodev1.PodsServiceClient, r *nodev1.WatchPodsRequest) *podWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := client.WatchPods(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return &podWatch{t: t, recv: stream.Recv, cancel: cancel}
}

func (w *podWatch) want(messages ...string) {
	w.t.Helper()
	for _, want := range messages {
		m, err := w.recv()
		if err != nil {
			w.t.Fatalf("got error %v, want %s", err, want)
		}
		if m.GetRevision() < w.last {
			w.t.Errorf("revision %d comes after %d", m.GetRevision(), w.last)
		}
		w.last = m.GetRevision()
		got := strings.TrimPrefix(m.GetType().String(), "WATCH_TYPE_")
		if pod := m.GetPod(); pod != nil {
			got += " " + pod.GetName() + " " + pod.GetUid()
		}
		if got != want {
			w.t.Errorf("got %s, want %s", got, want)
		}
	}
}

// forget plays the end of a teardown: the pod is gone, or its successor takes over.
func (n *node1) forget(t *testing.T, name string) {
	t.Helper()
	_, err := n.store.Transact(func(tx *store.Tx) error {
		key := node.Key{Namespace: "default", Name: name}
		if next := tx.Get(key).Next; next != nil {
			tx.Put(key, &node.Slot{Pod: next})
			return nil
		}
		tx.Put(key, nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAWatchSendsThePresentPodsAndThenEachChange(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	w := n.watch(t, nodev1.NewPodsServiceClient(n.dial(t)), &nodev1.WatchPodsRequest{})
	w.want("ADDED web uid-1", "SYNCED")
	n.run(t, "web", node.ContainerRunning)
	w.want("MODIFIED web uid-1")
	n.apply(t, manifestOf("other"))
	w.want("ADDED other uid-2")
	n.forget(t, "web")
	w.want("DELETED web uid-1")
}

func TestAWatchSendsAReplacedPodAsDeletedAndAdded(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	client := nodev1.NewPodsServiceClient(n.dial(t))
	w := n.watch(t, client, &nodev1.WatchPodsRequest{})
	w.want("ADDED web uid-1", "SYNCED")
	n.apply(t, strings.Replace(manifestOf("web"), "spec:\n", "spec:\n  hostNetwork: true\n", 1))
	w.want("MODIFIED web uid-1")
	n.forget(t, "web")
	w.want("DELETED web uid-1")
	between := w.last
	w.want("ADDED web uid-2")

	resumed := n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: between})
	resumed.want("ADDED web uid-2", "SYNCED")
}

func TestAWatchFollowsItsSelectors(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("other"))
	client := nodev1.NewPodsServiceClient(n.dial(t))
	labelled := n.watch(t, client, &nodev1.WatchPodsRequest{LabelSelector: "app=web"})
	labelled.want("ADDED web uid-1", "SYNCED")
	running := n.watch(t, client, &nodev1.WatchPodsRequest{FieldSelector: "status.phase=Running"})
	running.want("SYNCED")

	n.run(t, "web", node.ContainerRunning)
	labelled.want("MODIFIED web uid-1")
	running.want("ADDED web uid-1")
	n.apply(t, strings.Replace(manifestOf("web"), "app: web", "app: changed", 1))
	labelled.want("DELETED web uid-1")
	running.want("MODIFIED web uid-1")
	n.run(t, "web")
	running.want("DELETED web uid-1")
}

func TestAResumedWatchMissesNothing(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("quiet"))
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("gone"))
	client := nodev1.NewPodsServiceClient(n.dial(t))
	first := n.watch(t, client, &nodev1.WatchPodsRequest{})
	first.want("ADDED quiet uid-1", "ADDED web uid-2", "ADDED gone uid-3", "SYNCED")
	first.cancel()

	n.run(t, "web", node.ContainerRunning)
	n.forget(t, "gone")
	second := n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: first.last})
	second.want("ADDED web uid-2", "DELETED gone uid-3", "SYNCED")
	n.run(t, "quiet", node.ContainerRunning)
	second.want("MODIFIED quiet uid-1")
}

func TestAResumedWatchIgnoresPodsThatItNeverSelected(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	since := n.store.Revision()
	n.apply(t, manifestOf("other"))
	n.apply(t, manifestOf("gone"))
	n.forget(t, "gone")
	client := nodev1.NewPodsServiceClient(n.dial(t))
	n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: since, Namespace: "elsewhere"}).want("SYNCED")
	n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: since, FieldSelector: "metadata.name=web"}).want("SYNCED")
	n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: since, FieldSelector: "metadata.namespace=elsewhere"}).want("SYNCED")
	n.watch(t, client, &nodev1.WatchPodsRequest{SinceRevision: since, LabelSelector: "app=web"}).want("DELETED other uid-2", "DELETED gone uid-3", "SYNCED")
}

func TestAWatchFromForgottenHistoryFails(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("first"))
	since := n.store.Revision()
	for i := range 1025 { // one tombstone more than is kept
		name := fmt.Sprintf("pod-%d", i)
		if _, err := n.store.Transact(func(tx *store.Tx) error {
			slot, _ := n.store.View(node.Key{Namespace: "default", Name: "first"})
			object := *slot.Slot.Pod.Object
			object.Name = name
			tx.Put(node.KeyOf(&object), &node.Slot{Pod: &node.Pod{Object: &object}})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		n.forget(t, name)
	}
	stream, err := nodev1.NewPodsServiceClient(n.dial(t)).WatchPods(t.Context(), &nodev1.WatchPodsRequest{SinceRevision: since})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.OutOfRange {
		t.Errorf("gRPC: got %v, want OutOfRange", err)
	}
	if got := n.do(t, "GET", fmt.Sprintf("/v1/pods:watch?sinceRevision=%d", since), ""); got.status != http.StatusGone {
		t.Errorf("REST: got %d %s, want 410", got.status, got.body)
	}
}

func TestASlowReaderGetsTheLatestAndDelaysNoOthers(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	client := nodev1.NewPodsServiceClient(n.dial(t))
	slow := n.watch(t, client, &nodev1.WatchPodsRequest{})
	quick := n.watch(t, client, &nodev1.WatchPodsRequest{})
	slow.want("ADDED web uid-1", "SYNCED")
	quick.want("ADDED web uid-1", "SYNCED")
	// Far more than gRPC's window holds, without a reader.
	const changes = 2000
	for range changes {
		n.run(t, "web", node.ContainerRunning)
	}
	n.forget(t, "web")
	read := func(w *podWatch) (messages int) {
		for {
			m, err := w.recv()
			if err != nil {
				t.Fatal(err)
			}
			messages++
			if m.GetType() == nodev1.WatchType_WATCH_TYPE_DELETED {
				return messages
			}
		}
	}
	read(quick)
	if got := read(slow); got >= changes {
		t.Errorf("the slow reader got %d messages for %d changes, want states left out", got, changes)
	}
}

func TestAWatchEndsWithTheServer(t *testing.T) {
	n := newNode(t)
	w := n.watch(t, nodev1.NewPodsServiceClient(n.dial(t)), &nodev1.WatchPodsRequest{})
	w.want("SYNCED")
	n.server.Stop()
	if _, err := w.recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want Unavailable", err)
	}
}

// httpWatch opens a watch over real HTTP and returns its lines.
func httpWatch(t *testing.T, n *node1, path string, headers ...string) (*bufio.Scanner, *http.Response) {
	t.Helper()
	front := httptest.NewServer(n.server.HTTP())
	t.Cleanup(front.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", front.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := front.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return lines, response
}

func TestAWatchOverHTTPSendsALinePerMessage(t *testing.T) {
	n := newNode(t)
	lines, response := httpWatch(t, n, "/v1/pods:watch")
	if got := response.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("content type: got %s", got)
	}
	n.apply(t, manifestOf("web"))
	var kinds []string
	for len(kinds) < 2 && lines.Scan() {
		var m struct{ Type string }
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("decode %s: %v", lines.Bytes(), err)
		}
		kinds = append(kinds, m.Type)
	}
	if want := []string{"WATCH_TYPE_SYNCED", "WATCH_TYPE_ADDED"}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

func TestABrowserResumesWhereItWas(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	since := n.store.Revision()
	n.apply(t, manifestOf("other"))
	lines, response := httpWatch(t, n, "/v1/pods:watch", "Accept", "text/event-stream", "Last-Event-ID", fmt.Sprint(since))
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type: got %s", got)
	}
	var got []string
	for len(got) < 4 && lines.Scan() {
		if text := lines.Text(); !strings.HasPrefix(text, "data:") && text != "" {
			got = append(got, text)
		}
	}
	want := []string{fmt.Sprintf("id: %d", since+1), "event: ADDED", fmt.Sprintf("id: %d", since+1), "event: SYNCED"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAWatchFromBeforeTheFirstRevisionIsRefused(t *testing.T) {
	n := newNode(t)
	for _, path := range []string{"/v1/pods:watch", "/v1/events:watch"} {
		if got := n.do(t, "GET", path+"?sinceRevision=-1", ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "sinceRevision -1") {
			t.Errorf("%s: got %d %s, want 400", path, got.status, got.body)
		}
	}
}
