package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/store"
)

// memory is a journal without a disk.
type memory struct {
	mu   sync.Mutex
	fail error
}

var _ store.Journal = (*memory)(nil)

func (m *memory) Commit(...store.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fail
}

func (m *memory) CommitReserved(...store.Record) error { return nil }

func (m *memory) refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// rig is a node that has nothing but pod sources.
type rig struct {
	Sink
	t       testing.TB
	journal *memory
	events  *store.Events
	source  node.Source
}

func newRig(t testing.TB, source node.Source) *rig {
	t.Helper()
	journal := &memory{}
	clock, err := store.OpenClock(journal, nil)
	if err != nil {
		t.Fatal(err)
	}
	events := store.NewEvents(clock)
	return &rig{
		t: t, journal: journal, events: events, source: source,
		Sink: Sink{
			Intake: intake.Intake{Store: store.New(journal, clock), Offer: offered, NewUID: newUID},
			Board:  store.NewSources(map[node.Source]string{source: "somewhere"}),
			Event:  events.Add,
		},
	}
}

func offered() offer.Offer { return offer.Offer{Node: admit.Node{Name: "Node-1"}} }

func newUID() types.UID { return "made-here" }

// post applies a pod as the API would.
func (r *rig) post(name string) {
	r.t.Helper()
	api := r.Intake
	api.Source = node.SourceAPI
	p := &publisher{Sink: Sink{Intake: api}}
	p.Intake.Offer = func() offer.Offer { return offer.Offer{Node: admit.Node{Name: "x"}} }
	reading := p.read("", []byte(podYAML(name, "a:1")), time.Now())
	for i := range reading.deliveries {
		reading.deliveries[i].Pod.Name = name + "-node-1"
	}
	if _, _, err := api.Apply(reading.deliveries, time.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// run works a source until the test ends.
func (r *rig) run(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("the source ended with %v", err)
		}
	})
}

// until waits for a condition, which is asked whenever something happens.
func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		changed := r.Intake.Store.Changed()
		if condition() {
			return
		}
		select {
		case <-changed:
		case <-time.After(2 * time.Millisecond): // the board has no bell for this
		case <-deadline:
			r.t.Fatalf("never came true: %s\npods: %s\nerrors: %q\nevents: %q", what, r.pods(), r.errors(), r.reasons())
		}
	}
}

// pods lists the names of remaining pods with their images.
func (r *rig) pods() string {
	var pods []string
	views, _ := r.Intake.Store.Views()
	for _, v := range views {
		pod := v.Slot.Pod
		if v.Slot.Next != nil {
			pod = v.Slot.Next
		}
		if pod.Deletion == nil {
			pods = append(pods, v.Key.Name+"="+pod.Object.Spec.Containers[0].Image)
		}
	}
	return strings.Join(pods, " ")
}

func (r *rig) untilPods(want string) {
	r.t.Helper()
	r.until("pods are "+want, func() bool { return r.pods() == want })
}

func (r *rig) state() store.SourceState { return r.Board.List()[0] }

// errors returns the board's errors, by the last part of their origin.
func (r *rig) errors() map[string]string {
	errors := map[string]string{}
	for origin, e := range r.state().Errors {
		errors[filepath.Base(origin)] = e.Message
	}
	return errors
}

// reasons lists the reasons of all events, repeats included.
func (r *rig) reasons() []string {
	events, _, err := r.events.Since(0, func(*node.Event) bool { return true })
	if err != nil {
		r.t.Fatal(err)
	}
	var reasons []string
	for _, e := range events {
		for range e.Count {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func (r *rig) ready() bool {
	select {
	case <-r.Board.Ready():
		return true
	default:
		return false
	}
}

func podYAML(name, image string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\nspec:\n  containers:\n  - name: app\n    image: %s\n", name, image)
}

func podJSON(name, image string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"containers":[{"name":"app","image":%q}]}}`, name, image)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
