package shutdown

import (
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/store"
)

// disk is a journal that keeps nothing.
type disk struct{}

func (disk) Commit(...store.Record) error         { return nil }
func (disk) CommitReserved(...store.Record) error { return nil }

// shelf is a memory in memory.
type shelf struct{ times Times }

func (s *shelf) Load() Times { return s.times }

func (s *shelf) Save(t Times) error {
	s.times = t
	return nil
}

// bench is a machine with a store, at a time that stands still.
type bench struct {
	*Machine
	t       *testing.T
	now     time.Time
	resumed int
	events  []string
	shelf   *shelf
}

func newBench(t *testing.T) *bench {
	t.Helper()
	clock, err := store.OpenClock(disk{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: began, shelf: &shelf{}}
	b.Machine = b.machine(store.New(disk{}, clock))
	return b
}

// machine makes the Machine of an agent that starts.
func (b *bench) machine(s *store.Store) *Machine {
	return New(Config{
		Store: s, Phases: twoPhases(), Memory: b.shelf, Clock: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler),
		Resume: func(time.Time) error { b.resumed++; return nil },
		Report: func(e node.Event) { b.events = append(b.events, e.Reason+": "+e.Message) },
	})
}

// has puts a pod into the store, whose container runs.
func (b *bench) has(name string, change func(*node.Slot)) {
	b.t.Helper()
	object := &corev1.Pod{}
	object.Namespace, object.Name, object.UID = "default", name, types.UID("u-"+name)
	object.Spec.Containers = []corev1.Container{{Name: "app", Image: "a:1"}}
	manifest.Default(object)
	slot := node.NewSlot(&node.Pod{Object: object, Source: node.SourceAPI, Accepted: began})
	if change != nil {
		change(slot)
	}
	if _, err := b.Store.Transact(func(tx *store.Tx) error {
		tx.Put(key(name), slot)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	b.Store.Observe(key(name), &node.Observed{Containers: []node.Container{
		{ID: "c", Name: "app", UID: object.UID, Attempt: 2, State: node.ContainerRunning},
	}})
}

func (b *bench) termination(name string) *node.Termination {
	view, _ := b.Store.View(key(name))
	return view.Slot.Termination
}

func TestAShutdownEndsPodsAndIsCalledOff(t *testing.T) {
	b := newBench(t)
	b.has("web", nil)
	b.has("once", func(s *node.Slot) { s.Pod.Object.Spec.RestartPolicy = corev1.RestartPolicyNever })
	b.has("member", func(s *node.Slot) { s.Pod.Object.Annotations = map[string]string{node.AnnotationFrom: node.Cluster} })
	if wake := b.Pass(); !wake.IsZero() || b.termination("web") != nil {
		t.Fatalf("a machine that stays up ends pods, and wakes at %s", wake)
	}
	ended := b.GoDown("test")
	b.Pass()
	for name, returns := range map[string]bool{"web": true, "once": false, "member": false} {
		got := b.termination(name)
		if got == nil || got.Reason != "Terminated" || got.Grace != 20*time.Second || got.Returns != returns {
			t.Errorf("%s ends as %+v, want it to have 20s, and to return: %t", name, got, returns)
		}
	}
	if view, _ := b.Store.View(key("web")); len(view.Slot.Pod.Restarts) != 1 || view.Slot.Pod.Restarts[0].Attempt != 2 {
		t.Errorf("the run of web that is cut short is followed by another: %v", view.Slot.Pod.Restarts)
	}
	if got := b.State(); !got.Began.Equal(began) || len(got.Waits) != 3 || got.Done {
		t.Errorf("the state is %+v, want it to wait for three pods", got)
	}
	b.now = began.Add(time.Second)
	b.StayUp()
	select {
	case <-ended:
	default:
		t.Error("a shutdown that was called off is still waited for")
	}
	if b.Down() || b.resumed != 1 || !b.shelf.times.End.Equal(b.now) {
		t.Errorf("down %t, resumed %d times, ended at %s", b.Down(), b.resumed, b.shelf.times.End)
	}
	if want := "Shutdown: Shutdown manager detected shutdown cancellation"; b.events[len(b.events)-1] != want {
		t.Errorf("the events are %q, want %q last", b.events, want)
	}
}

func TestAnAgentThatStartsAgainGoesOnWithTheShutdown(t *testing.T) {
	b := newBench(t)
	b.has("web", nil)
	b.GoDown("test")
	b.Pass()
	b.now = began.Add(5 * time.Second)
	next := b.machine(b.Store)
	next.GoDown("test")
	if got := next.State().Began; !got.Equal(began) {
		t.Errorf("it began at %s, want %s", got, began)
	}
	next.Pass()
	if got := b.termination("web"); got.Grace != 20*time.Second || !got.Requested.Equal(began) {
		t.Errorf("web ends as %+v, want it to keep its time", got)
	}
	third := b.machine(b.Store)
	third.StayUp() // it was called off meanwhile
	third.GoDown("test")
	if got := third.State().Began; !got.Equal(b.now) {
		t.Errorf("another one began at %s, want %s", got, b.now)
	}
}

func TestNothingIsWaitedForOnceAllPodsHaveEnded(t *testing.T) {
	b := newBench(t)
	ended := b.GoDown("test")
	b.now = began.Add(2 * time.Second)
	b.Pass()
	select {
	case <-ended:
	default:
		t.Fatal("it waits for pods that are not there")
	}
	if want := (Times{began, b.now}); b.Times() != want || b.shelf.times != want || !b.State().Done {
		t.Errorf("the times are %v, the state is %+v, want %v", b.Times(), b.State(), want)
	}
	b.has("late", nil)
	b.Pass()
	if got := b.termination("late"); got == nil || got.Grace != atOnce {
		t.Errorf("a pod that begins after that ends as %+v, want it to end at once", got)
	}
}
