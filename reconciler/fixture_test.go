package reconciler_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/host/image"
	"nodal/node"
	"nodal/node/assign"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/offer"
	"nodal/node/status"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/reconciler"
	sim "nodal/sim/cri"
)

// bench is a reconciler at work on a simulated runtime, in a bubble of fake
// time.
type bench struct {
	*testing.T
	server  *sim.Server
	runtime *cri.Pods
	images  *cri.Images
	journal *journal
	logs    *logs
	volumes *volumes
	sources *store.Sources
	offers  offer.Board
	site    node.Site

	store   *store.Store
	events  *store.Events
	prober  *prober
	counts  counts
	intake  intake.Intake
	uids    int
	claims  *claims // of the cluster that was heard last
	stop    func()  // the reconciler, and waits for its end
	alive   func(context.Context) error
	listed  func(context.Context) ([]node.Garbage, error)
	scarce  func(bool)
	kinds   []reconciler.Kind // of assets, besides volumes
	devices reconciler.Devices
	drivers reconciler.ClaimDrivers
}

const testImage = "app:1"

// inBubble runs a test with a reconciler for pods of the API and of files.
// Files have delivered unless late is set.
func inBubble(t *testing.T, late bool, test func(b *bench)) {
	t.Helper()
	logsDir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		server := sim.NewServer(sim.Config{Images: []sim.Image{
			{Ref: testImage, Local: true}, {Ref: "slow:1", PullTime: time.Hour}, {Ref: "data:1"},
		}})
		link := server.Link()
		conn, err := link.Dial()
		if err != nil {
			t.Fatal(err)
		}
		adapter := cri.New(conn, conn, cri.Config{RequestTimeout: 10 * time.Second})
		config := cri.PodConfig{LogsDir: logsDir, Extras: []spec.Contributor{imageMounts}}
		b := &bench{
			T: t, server: server, images: cri.NewImages(adapter),
			runtime: cri.NewPods(adapter, cri.NewHealth(adapter), config, slog.New(slog.DiscardHandler)),
			journal: &journal{records: map[string][]byte{}}, logs: &logs{}, volumes: newVolumes(),
			sources: store.NewSources(map[node.Source]string{node.SourceFile: "/pods"}),
			site:    node.Site{NodeName: "here", Runtime: "sim", BackoffMax: node.DefaultBackoffMax},
		}
		if !late {
			b.sources.Delivered(node.SourceFile, time.Now(), nil)
		}
		b.start()
		test(b)
		b.stop()
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
}

// start is a start of the agent, from what its journal has kept.
func (b *bench) start() {
	b.Helper()
	clock, err := store.OpenClock(b.journal, b.journal.all())
	if err != nil {
		b.Fatal(err)
	}
	b.store, b.events = store.New(b.journal, clock), store.NewEvents(clock)
	if problems := b.store.Restore(b.journal.all()); len(problems) > 0 {
		b.Fatal(problems)
	}
	keeper := storage.Keeper{Dir: "/volumes", NewUID: b.newUID}
	b.intake = intake.Intake{Store: b.store, Source: node.SourceAPI, NewUID: b.newUID, Storage: keeper}
	b.prober = &prober{set: map[node.Key][]node.Probe{}, results: make(chan node.Probed)}
	puller := image.New(image.Config{Runtime: b.images, Tell: b.events.Add})
	in := b.intake // as it is when the agent starts
	r := reconciler.New(reconciler.Config{
		Prober: b.prober, Counts: &b.counts,
		Act: reconciler.Act{
			Store: b.store, Runtime: b.runtime, Images: puller, Logs: b.logs, Volumes: b.volumes, Storage: keeper, Clock: time.Now, Devices: b.devices, Claims: b.drivers,
			Rules: func() *assign.Rules { return b.offers.Read().Assign },
			Freed: func(tx *store.Tx) { in.Readmit(tx, time.Now()) },
		},
		Kinds:  append([]reconciler.Kind{reconciler.ReleasedVolumes(b.store, b.volumes)}, b.kinds...),
		Events: b.events, Sources: b.sources, Offers: &b.offers, Site: b.site,
		Log: slog.New(slog.DiscardHandler), Relist: reconciler.PollEvery, Starts: 4,
	})
	b.alive, b.listed, b.scarce = r.Alive, r.Garbage, r.SetScarce
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	b.stop = func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("run: %v", err)
		}
		synctest.Wait()
	}
}

func (b *bench) newUID() types.UID {
	b.uids++
	return types.UID(fmt.Sprintf("uid-%d", b.uids))
}

// rest lets time go on, and then everything that is under way settle.
func (b *bench) rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func key(name string) node.Key { return node.Key{Namespace: "default", Name: name} }

// pod is a manifest of one container that runs a program of package sim/cri.
func pod(name string, program ...string) *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: testImage, Args: program}}},
	}
	manifest.Default(object)
	return object
}

func (b *bench) apply(object *corev1.Pod) {
	b.Helper()
	if _, _, err := b.intake.Apply([]intake.Delivery{{Pod: object}}, time.Now()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) delete(name string, grace time.Duration) {
	b.Helper()
	if _, err := b.intake.Delete(intake.DeleteRequest{Key: key(name), Grace: &grace}, time.Now()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) status(name string) corev1.PodStatus {
	b.Helper()
	view, ok := b.store.View(key(name))
	if !ok {
		b.Fatalf("pod %s is not there", name)
	}
	return status.Of(b.site, view.Slot, view.Got)
}

// wantState expects a phase and how the first container is.
func (b *bench) wantState(name, want string) {
	b.Helper()
	s := b.status(name)
	c := s.ContainerStatuses[0]
	state := "running"
	switch {
	case c.State.Waiting != nil:
		state = c.State.Waiting.Reason
	case c.State.Terminated != nil:
		state = c.State.Terminated.Reason
	}
	got := fmt.Sprintf("%s %s restarts=%d ready=%t", s.Phase, state, c.RestartCount, c.Ready)
	if got != want {
		b.Errorf("pod %s is %s, want %s", name, got, want)
	}
}

func (b *bench) wantGone(name string) {
	b.Helper()
	if view, ok := b.store.View(key(name)); ok {
		b.Errorf("pod %s is still there: %+v", name, view.Got)
	}
	if s := b.server.Snapshot(); len(s.Sandboxes)+len(s.Containers) > 0 {
		b.Errorf("the runtime still has %+v", s)
	}
}

// effects counts what happened in the runtime.
func (b *bench) effects(kind sim.EffectKind) int {
	n := 0
	for _, e := range b.server.Journal() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (b *bench) wantEffects(want map[sim.EffectKind]int) {
	b.Helper()
	for kind, n := range want {
		if got := b.effects(kind); got != n {
			b.Errorf("%s happened %d times, want %d", kind, got, n)
		}
	}
}

// reasons are the pod's events, oldest first.
func (b *bench) reasons(match func(*node.Event) bool) string {
	b.Helper()
	events, _, err := b.events.Since(0, match)
	if err != nil {
		b.Fatal(err)
	}
	var reasons []string
	for _, e := range events {
		reasons = append(reasons, e.Reason)
	}
	return strings.Join(reasons, " ")
}

// journal outlives the agent.
type journal struct {
	mu      sync.Mutex
	records map[string][]byte
}

var _ store.Journal = (*journal)(nil)

func (j *journal) Commit(records ...store.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		if r.Data == nil {
			delete(j.records, r.Name)
		} else {
			j.records[r.Name] = r.Data
		}
	}
	return nil
}

func (j *journal) CommitReserved(records ...store.Record) error { return j.Commit(records...) }

func (j *journal) all() []store.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []store.Record
	for name, data := range j.records {
		all = append(all, store.Record{Name: name, Data: data})
	}
	return all
}

// logs notes what is removed, and which logs log collectors find.
type logs struct {
	mu      sync.Mutex
	removed []string
	linked  []string // containers' ids
}

var _ reconciler.Logs = (*logs)(nil)

func (l *logs) Link(_ node.Key, run *node.Container) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.linked, run.ID) {
		l.linked = append(l.linked, run.ID)
	}
}

func (l *logs) Unlink(_ node.Key, _, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.linked = slices.DeleteFunc(l.linked, func(linked string) bool { return linked == id })
}

// found are the containers whose logs collectors find.
func (l *logs) found() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.linked)
}

func (l *logs) RemovePod(key node.Key, _ types.UID) error {
	return l.note(key.Name)
}

func (l *logs) RemoveRun(key node.Key, _ types.UID, container string, attempt uint32) error {
	return l.note(fmt.Sprintf("%s/%s/%d", key.Name, container, attempt))
}

func (l *logs) Sweep(context.Context, func(types.UID) bool) error { return nil }

func (l *logs) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

func (l *logs) note(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = append(l.removed, what)
	return nil
}

func (l *logs) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.removed)
}
