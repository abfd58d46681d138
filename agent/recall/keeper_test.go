package recall

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// bench is a node whose pods are recorded.
type bench struct {
	*testing.T
	dir    string
	store  *store.Store
	keeper *Keeper
	events []node.Event
}

type forgetful struct{}

func (forgetful) Commit(...store.Record) error         { return nil }
func (forgetful) CommitReserved(...store.Record) error { return nil }

func newBench(t *testing.T) *bench {
	b := &bench{T: t, dir: filepath.Join(t.TempDir(), "pods")}
	clock, err := store.OpenClock(forgetful{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.store = store.New(forgetful{}, clock)
	b.start(1 << 20)
	return b
}

// start is a start of the agent.
func (b *bench) start(room int64) {
	b.keeper = New(Config{
		Dir: b.dir, MaxBytes: room, Store: b.store, Site: node.Site{NodeName: "here"}, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Report: func(e node.Event) { b.events = append(b.events, e) },
	})
	b.Cleanup(b.keeper.file.Close)
	b.keeper.keep()
}

// put makes a pod, or changes its image; an empty one removes it. It returns the revision.
func (b *bench) put(name, image string) int64 {
	b.Helper()
	key := node.Key{Namespace: "default", Name: name}
	var slot *node.Slot
	if image != "" {
		slot = &node.Slot{Pod: &node.Pod{Source: node.SourceAPI, Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
		}}}
	}
	at, err := b.store.Transact(func(tx *store.Tx) error {
		tx.Put(key, slot)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return at
}

// want checks how a pod was.
func (b *bench) want(name string, at int64, want string) {
	b.Helper()
	s, err := b.keeper.Was(node.Key{Namespace: "default", Name: name}, at)
	got := ""
	switch {
	case errors.Is(err, node.ErrCompacted):
		got = "not kept"
	case err != nil:
		got = err.Error()
	case s == nil:
		got = "none"
	case s.Gone:
		got = fmt.Sprint("gone at ", s.Revision)
	default:
		got = s.Pod.Object.Spec.Containers[0].Image + " " + string(s.Status.Phase)
	}
	if got != want {
		b.Errorf("%s at revision %d: got %q, want %q", name, at, got, want)
	}
}

func TestEachRevisionIsKept(t *testing.T) {
	b := newBench(t)
	begun := b.store.Revision()
	first := b.put("web", "a:1")
	second := b.put("web", "a:2") // nothing was written in between
	gone := b.put("web", "")
	again := b.put("web", "a:3")
	b.want("web", begun-1, "not kept")
	b.want("web", begun, "none")
	b.want("web", first, "a:1 Pending")
	b.want("web", second, "a:2 Pending")
	b.want("web", gone, fmt.Sprint("gone at ", gone))
	b.want("web", again, "a:3 Pending")
}

func TestAnotherAgentKnowsIt(t *testing.T) {
	b := newBench(t)
	first := b.put("web", "a:1")
	lost := b.put("lost", "b:1")
	b.keeper.keep()
	b.keeper.file.Close() // it is killed, and does not hear of the next changes
	b.put("lost", "")
	second := b.put("web", "a:2")
	b.start(1 << 20)
	third := b.put("web", "a:3")
	b.want("web", first, "a:1 Pending")
	b.want("web", second, "a:2 Pending")
	b.want("web", third, "a:3 Pending")
	b.want("lost", lost, "b:1 Pending")
	b.want("lost", third, fmt.Sprint("gone at ", second))
}

func TestTheRecordIsBounded(t *testing.T) {
	b := newBench(t)
	b.start(8 << 10)
	quiet, first := b.put("quiet", "b:1"), b.store.Revision()
	last := int64(0)
	for n := range 300 {
		last = b.put("web", fmt.Sprint("a:", n))
		b.keeper.keep()
	}
	sum := int64(0)
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	if sum > 9<<10 || sum < 4<<10 {
		t.Errorf("%d bytes are kept, want up to 8 KiB", sum)
	}
	b.want("web", first, "not kept")
	b.want("web", last, "a:299 Pending")
	b.want("web", last-2, "a:297 Pending")
	b.want("quiet", last, "b:1 Pending") // its last change was long before the oldest file
	_ = quiet
}

func TestARecordWithAGapStartsOver(t *testing.T) {
	b := newBench(t)
	before := b.put("web", "a:1")
	b.want("web", before, "a:1 Pending")
	_ = b.keeper.file.Drop()
	if err := os.WriteFile(b.dir+"x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.dir, b.dir+"y"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.dir+"x", b.dir); err != nil { // a file is in the place of the directory
		t.Fatal(err)
	}
	missed := b.put("web", "a:2")
	b.keeper.keep()
	b.put("web", "a:3")
	b.keeper.keep()
	if len(b.events) != 1 || b.events[0].Reason != "PodsNotRecorded" || !strings.Contains(b.events[0].Message, "starts over") {
		t.Errorf("got events %+v, want one", b.events)
	}
	if err := os.Remove(b.dir); err != nil {
		t.Fatal(err)
	}
	after := b.put("web", "a:4")
	b.want("web", after, "a:4 Pending")
	b.want("web", missed, "not kept")
}

func TestTooManyStatesAtOnceStartTheRecordOver(t *testing.T) {
	b := newBench(t)
	first := b.put("web", "a:1")
	last := int64(0)
	for n := range most + 1 {
		last = b.put("web", fmt.Sprint("a:", n%2))
	}
	b.want("web", last, fmt.Sprintf("a:%d Pending", most%2))
	b.want("web", first, "not kept")
}

// BenchmarkAChange measures what the record of one change costs: to collect it, to derive the status, and to write it.
func BenchmarkAChange(b *testing.B) {
	dir := b.TempDir()
	clock, err := store.OpenClock(forgetful{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	held := store.New(forgetful{}, clock)
	key := node.Key{Namespace: "default", Name: "web"}
	pod := &node.Pod{Source: node.SourceAPI, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1"}}},
	}}
	if _, err := held.Transact(func(tx *store.Tx) error {
		tx.Put(key, &node.Slot{Pod: pod})
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	k := New(Config{Dir: dir, MaxBytes: 8 << 20, Store: held, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Report: func(node.Event) {}})
	defer k.file.Close()
	k.keep()
	attempt := uint32(0)
	for b.Loop() {
		attempt++
		held.Observe(key, &node.Observed{
			Sandboxes:  []node.Sandbox{{ID: "s1", UID: "u1", State: node.SandboxReady, IPs: []string{"10.88.0.7"}, Inspected: true}},
			Containers: []node.Container{{ID: fmt.Sprint("c", attempt), SandboxID: "s1", UID: "u1", Name: "main", Attempt: attempt, State: node.ContainerRunning, Inspected: true}},
		})
		k.keep()
	}
}
