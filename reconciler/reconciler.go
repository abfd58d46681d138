package reconciler

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"nodal/node"
)

// Config is what a reconciler is made of.
type Config struct {
	Act     Act
	Prober  Prober
	Events  *node.Events
	Sources *node.Sources
	Site    node.Site
	Log     *slog.Logger
	Relist  time.Duration // between looks at a runtime that tells nothing itself
	Starts  int           // actions that make things, side by side on the node
}

// Reconciler is the loop. Its fields belong to the goroutine of Run.
type Reconciler struct {
	Config
	contact
	tracks    map[node.Key]*tracked
	dirty     map[node.Key]bool // pods that something happened to
	alarms    alarms
	mark      node.Mark
	since     int64 // store revision up to which intents were taken
	objects   int64 // store revision up to which changes of objects were told
	ready     bool  // every source has delivered
	began     time.Time
	looked    chan struct{} // closed after the first full look
	gate      *gate
	sweeper   sweeper
	reclaimer reclaimer
	done      chan finished
	seen      chan sighting
	wakes     chan node.Key
	relists   chan struct{}
	asked     chan struct{} // whether the loop turns
}

// contact is how the loop stands with the runtime.
type contact struct {
	synced bool                        // it was seen whole since it was last lost
	away   bool                        // it does not answer, and that was told
	retry  *time.Timer                 // of a full look, after one that failed
	whole  node.Mark                   // of the newest full look
	strays map[node.Key]*node.Observed // seen there, not in the store
	freed  map[node.Key]node.Mark      // when names were given up, until a full look that began later
}

// tracked is a track with what runs for it.
type tracked struct {
	*Track
	key       node.Key
	cancels   map[string]context.CancelFunc // of actions in flight, by target
	observing bool
	published *node.Observed
	wasReady  bool
}

type finished struct {
	t    *tracked
	pod  *node.Pod
	took time.Duration
	Outcome
}

// sighting is what a look at the runtime showed; of one key, or of all.
type sighting struct {
	only *node.Key
	all  map[node.Key]*node.Observed
	mark node.Mark
	err  error
}

// New makes a reconciler that has not begun.
func New(c Config) *Reconciler {
	return &Reconciler{
		Config:  c,
		contact: contact{strays: map[node.Key]*node.Observed{}, freed: map[node.Key]node.Mark{}},
		tracks:  map[node.Key]*tracked{}, dirty: map[node.Key]bool{},
		since:     -1,
		alarms:    alarms{due: map[node.Key]time.Time{}},
		looked:    make(chan struct{}),
		gate:      newGate(c.Starts),
		reclaimer: reclaimer{done: make(chan struct{})},
		done:      make(chan finished), seen: make(chan sighting),
		wakes: make(chan node.Key, 256), relists: make(chan struct{}, 1),
		asked: make(chan struct{}),
	}
}

// Run reconciles until the context ends. What is in flight then is cancelled;
// the next start observes what became of it.
func (r *Reconciler) Run(ctx context.Context) error {
	r.began = r.Act.Clock()
	go r.watch(ctx)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	safety := time.NewTicker(safetyRelist)
	defer safety.Stop()
	sources := r.Sources.Ready()
	for {
		changed := r.Act.Store.Changed()
		r.takeIntents()
		r.step(ctx)
		r.sweep(ctx)
		r.reclaim(ctx)
		r.tellLooked()
		timer.Reset(r.alarms.next(r.Act.Clock()))
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case f := <-r.done:
			r.finish(f)
		case s := <-r.seen:
			r.sight(s)
		case word := <-r.Prober.Results():
			r.hear(word)
		case key := <-r.wakes:
			r.wake(key)
		case <-r.relists:
			r.look(ctx, nil)
		case <-r.asked:
		case <-r.reclaimer.done:
			r.reclaimed()
		case <-safety.C:
			r.look(ctx, nil)
		case <-timer.C:
			r.alarms.ring(r.Act.Clock(), func(key node.Key) { r.dirty[key] = true })
		case <-sources:
			sources, r.ready = nil, true
			r.adoptStrays()
			for key := range r.tracks {
				r.dirty[key] = true
			}
		}
	}
}

// Looked is closed once the runtime was looked at for the first time, or found
// to be out of reach. Before that nothing is known of pods that may well run.
func (r *Reconciler) Looked() <-chan struct{} { return r.looked }

// Alive returns once the loop has turned, and fails if it does not before the
// context ends: it hangs, or has ended.
func (r *Reconciler) Alive(ctx context.Context) error {
	select {
	case r.asked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the reconciler's loop to turn: %w", ctx.Err())
	}
}

func (r *Reconciler) tellLooked() {
	if !r.synced && !r.away {
		return
	}
	select {
	case <-r.looked:
	default:
		close(r.looked)
	}
}

// takeIntents brings the tracks up to the store's present slots.
func (r *Reconciler) takeIntents() {
	store := r.Act.Store
	views, revision, err := store.Since(r.since)
	if err != nil { // the first turn, or far behind: take everything
		views, revision = store.Views()
		for key, t := range r.tracks {
			if _, ok := store.View(key); !ok {
				r.drop(t)
			}
		}
	}
	r.since = revision
	for _, v := range views {
		r.intend(v)
	}
	r.takeObjects()
}

// takeObjects tells the pods that use what changed: volumes are brought up to date,
// and what failed for the want of it is tried at once.
func (r *Reconciler) takeObjects() {
	changed := r.Act.Store.ObjectsChanged()
	if changed == r.objects {
		return
	}
	r.objects = changed
	for _, t := range r.tracks {
		r.supply(t)
	}
}

func (r *Reconciler) supply(t *tracked) {
	if t.Supply(r.Act.Store.Revisions(node.ObjectRefs(t.Slot().Pod.Object))) {
		r.dirty[t.key] = true
	}
}

func (r *Reconciler) intend(v node.View) {
	t, ok := r.tracks[v.Key]
	switch {
	case v.Gone && ok:
		r.drop(t)
	case v.Gone:
	case !ok:
		r.tellRefused(v, nil)
		seen := r.strays[v.Key]
		delete(r.strays, v.Key)
		t = &tracked{Track: NewTrack(v.Slot, seen, r.synced), key: v.Key, cancels: map[string]context.CancelFunc{}}
		r.tracks[v.Key] = t
		r.supply(t)
		r.dirty[v.Key] = true
	case t.Slot() != v.Slot:
		r.tellRefused(v, t.Slot().Pod)
		if obsolete := t.Intend(v.Slot); obsolete != nil {
			for target, cancel := range t.cancels {
				if obsolete(t.busy[target]) {
					cancel()
				}
			}
		}
		r.supply(t)
		r.dirty[v.Key] = true
	}
}

func (r *Reconciler) drop(t *tracked) {
	r.Prober.Set(t.key, nil)
	for _, cancel := range t.cancels {
		cancel()
	}
	delete(r.tracks, t.key)
	delete(r.dirty, t.key)
	r.mark++
	r.freed[t.key] = r.mark
	if t.unsure {
		r.relist() // something happened to it meanwhile that nobody would look at any more
	}
}

// step gives every pod that something happened to its turn.
func (r *Reconciler) step(ctx context.Context) {
	if !r.synced {
		return // the runtime is out of reach; all pods are looked at once it is back
	}
	now := r.Act.Clock()
	for key := range r.dirty {
		delete(r.dirty, key)
		t, ok := r.tracks[key]
		if !ok || !r.ready && t.Strangers() {
			continue
		}
		turn := t.Next(r.Site, now)
		if turn.Observe && !t.observing {
			t.observing = true
			r.look(ctx, &t.key)
		}
		for _, target := range turn.Cancel {
			t.cancels[target]()
		}
		for _, a := range turn.Actions {
			r.start(ctx, t, a)
		}
		if !turn.Wake.IsZero() {
			r.alarms.set(turn.Wake, key)
		}
		r.show(t)
	}
}

// publish shows a new observation to readers. A pod of which everything was
// cleared away is shown as it last was: it did not go back to its beginning.
func (r *Reconciler) publish(t *tracked) {
	if t.published == t.Got() || t.Slot().Pod.Deletion != nil && t.Got().Empty() {
		return
	}
	unchanged := t.published != nil && sameFacts(t.published, t.Got())
	t.published = t.Got()
	if unchanged {
		return
	}
	r.Act.Store.Observe(t.key, t.published)
	r.tellReady(t)
}

// start runs one action in a goroutine of its own.
func (r *Reconciler) start(loop context.Context, t *tracked, a node.Action) {
	ctx, cancel := context.WithCancel(loop)
	t.Begin(a)
	t.cancels[a.Target()] = cancel
	if e, ok := announce(a); ok {
		r.tell(t, t.Slot().Pod, e)
	}
	pod, got, began := t.Slot().Pod, t.Got(), r.Act.Clock()
	go func() {
		defer cancel()
		f := finished{t: t, pod: pod, Outcome: Outcome{Action: a}}
		f.Result, f.Err = r.gate.through(ctx, a, func() (node.Result, error) {
			return r.Act.Do(ctx, t.key, pod, got, a)
		})
		if ctx.Err() != nil && f.Err != nil {
			f.Err = context.Cause(ctx)
		}
		f.took = r.Act.Clock().Sub(began)
		select {
		case r.done <- f:
		case <-loop.Done():
		}
	}()
}

// finish folds an outcome into its track.
func (r *Reconciler) finish(f finished) {
	t := f.t
	r.mark++
	f.Mark, f.Now = r.mark, r.Act.Clock()
	delete(t.cancels, f.Action.Target())
	t.Done(f.Outcome)
	if e, ok := report(f.Outcome); ok {
		if e.Took == 0 {
			e.Took = f.took
		}
		r.tell(t, f.pod, e)
	}
	r.dirty[t.key] = true
}

func (r *Reconciler) tell(t *tracked, pod *node.Pod, e node.Event) {
	e.Key, e.UID, e.Time = t.key, pod.UID(), r.Act.Clock()
	r.Events.Add(e)
}
