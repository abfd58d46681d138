package reconciler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/node/store"
)

// Config holds the parts of a reconciler.
type Config struct {
	Act     Act
	Prober  Prober
	Tracer  Tracer // nil disables traces
	Counts  Counts // nil counts nothing
	Events  *store.Events
	Sources *store.Sources
	Site    node.Site
	Kinds   []Kind       // of assets
	Pool    *assign.Pool // of CPUs that pods share; nil disables it
	Offers  Offers       // of the node; nil if its offer never changes
	Log     *slog.Logger
	Relist  time.Duration // between looks at a runtime without events
	Starts  int           // sandboxes and containers that are made at a time
}

// Offers reads the node's present offer to pods.
type Offers interface {
	Read() offer.Offer
	Changed() <-chan struct{}
}

// Reconciler drives a Loop in real time: its work runs in goroutines, and the results come back over channels. Its
// fields belong to the goroutine of Run.
type Reconciler struct {
	Config
	loop       *Loop
	wasReady   map[node.Key]bool
	wasBehind  map[node.Key]string            // what it was last told that a pod waits for
	backedOff  map[node.Key]map[string]string // by container, the run whose back-off was reported
	resizes    map[node.Key]resize
	freed      freed // by changes of pods
	working    map[node.Key]work
	began      time.Time
	looked     chan struct{}   // closed after the first full look
	settled    chan struct{}   // closed once all sources were heard, and unwanted pods recorded
	sources    <-chan struct{} // closed once the sources have changed
	kept       bool            // reported that pods run which no source has asked for yet
	misses     int32           // full looks in a row that failed
	retry      time.Time       // when the next one comes
	gate       *gate
	readmitted bool
	offered    int64 // revision of the offer that pods live by
	sweeping   atomic.Bool
	inbox      chan func() // results of actions and looks
	wakes      chan node.Key
	relists    chan struct{}
	scarce     atomic.Bool // the node's disk runs short
	scarcity   chan struct{}
	asked      chan struct{} // received from once a turn, see Alive
}

type finished struct {
	t    *Tracked
	pod  *node.Pod
	took time.Duration
	Outcome
}

// New makes a reconciler that has not begun.
func New(c Config) *Reconciler {
	if c.Tracer == nil {
		c.Tracer = untraced{}
	}
	if c.Counts == nil {
		c.Counts = uncounted{}
	}
	loop := NewLoop(c.Act.Store, c.Site)
	loop.Pool, loop.Kinds = c.Pool, c.Kinds
	return &Reconciler{
		Config:   c,
		loop:     loop,
		wasReady: map[node.Key]bool{}, wasBehind: map[node.Key]string{}, backedOff: map[node.Key]map[string]string{},
		resizes: map[node.Key]resize{}, working: map[node.Key]work{},
		looked:  make(chan struct{}),
		settled: make(chan struct{}),
		sources: closed,
		gate:    newGate(c.Starts),
		inbox:   make(chan func()),
		wakes:   make(chan node.Key, 256), relists: make(chan struct{}, 1),
		scarcity: make(chan struct{}, 1),
		asked:    make(chan struct{}),
	}
}

// Run reconciles until the context ends. Actions in flight are cancelled then; the next start observes what became of
// them.
func (r *Reconciler) Run(ctx context.Context) error {
	r.began = r.Act.Clock()
	r.loop.Hands = newHands(ctx, r)
	go r.watch(ctx)
	for _, kind := range r.Kinds {
		for _, board := range kind.boards() {
			go r.heed(ctx, board)
		}
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	safety := time.NewTicker(SafetyRelist)
	defer safety.Stop()
	for {
		changed, offered := r.Act.Store.Changed(), r.takeOffer()
		sources := r.takeSources()
		r.loop.Turn(r.Act.Clock())
		r.sweep(ctx)
		r.closeLooked()
		r.reportKept()
		r.readmit()
		now := r.Act.Clock()
		timer.Reset(min(r.loop.Next(now), r.loop.untilSweep(now)))
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-offered:
		case take := <-r.inbox:
			take()
		case word := <-r.Prober.Results():
			r.loop.Hear(word)
		case key := <-r.wakes:
			r.loop.Wake(key)
		case <-r.relists:
			r.loop.LookAll()
		case <-r.scarcity:
			r.loop.SetScarce(r.scarce.Load())
		case <-r.asked:
		case <-safety.C:
			r.loop.LookAll()
		case <-timer.C:
			r.loop.Ring(r.Act.Clock())
		case <-sources:
		}
	}
}

// SetScarce has finished pods give up their containers and logs while the node's disk runs short. It does not wait.
func (r *Reconciler) SetScarce(scarce bool) {
	r.scarce.Store(scarce)
	select {
	case r.scarcity <- struct{}{}:
	default: // the loop is told already, and reads the latest
	}
}

// heed has the loop turn whenever a board rings, until the context ends.
func (r *Reconciler) heed(ctx context.Context, board Board) {
	for {
		changed := board.Changed()
		select {
		case r.inbox <- func() {}: // the loop compares revisions
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Looked returns a channel that is closed after the first look at the runtime, successful or not. Before that nothing
// is known of pods that may well run.
func (r *Reconciler) Looked() <-chan struct{} { return r.looked }

// Alive returns nil once the loop has turned. It fails if the context ends first: the loop hangs, or has ended.
func (r *Reconciler) Alive(ctx context.Context) error {
	select {
	case r.asked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the reconciler's loop to turn: %w", ctx.Err())
	}
}

// Settled returns a channel that is closed once every source was heard and the pods that none wants were recorded.
// From then on a pod that the store does not have does not run, unless a source wants it.
func (r *Reconciler) Settled() <-chan struct{} { return r.settled }

func (r *Reconciler) closeLooked() {
	closeOnce(r.looked, r.loop.Looked())
	closeOnce(r.settled, r.loop.Settled())
}

// closed tells the first turn to take the sources.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func closeOnce(c chan struct{}, due bool) {
	select {
	case <-c:
	default:
		if due {
			close(c)
		}
	}
}

// takeSources tells the loop what has changed of the sources of pods. The next change closes the channel that it returns.
func (r *Reconciler) takeSources() <-chan struct{} {
	select {
	case <-r.sources:
		r.sources = r.Sources.Changed()
		r.loop.Await(r.Sources.Waiting(), r.Sources.Claims(), r.Act.Clock())
	default:
	}
	return r.sources
}

// reportKept sends one event if pods run that no source has asked for, while a source is still waited for.
func (r *Reconciler) reportKept() {
	pods, waiting := r.loop.Kept()
	if r.kept || pods == 0 || len(waiting) == 0 || r.Act.Clock().Sub(r.began) < keptAfter {
		return
	}
	r.kept = true
	names := fmt.Sprint(slices.Sorted(maps.Keys(waiting)))
	r.Log.Warn("pods run that no source has asked for yet; they are left alone until every source has delivered",
		"pods", pods, "waiting", names)
	r.Events.Add(node.Event{
		Warning: true, Reason: "WaitingForSources", Time: r.Act.Clock(),
		Message: fmt.Sprintf("%d pods run that no source has asked for yet. They are left alone until these sources have "+
			"delivered: %s", pods, names),
	})
}

// keptAfter is the time for sources to deliver before an event says that pods wait for them.
const keptAfter = 10 * time.Second

// takeOffer passes a new offer to the loop, and has pods that wait for resources looked at again. The next offer closes
// the channel that it returns.
func (r *Reconciler) takeOffer() <-chan struct{} {
	if r.Offers == nil {
		return nil
	}
	changed := r.Offers.Changed()
	if o := r.Offers.Read(); o.Revision != r.offered {
		r.offered, r.readmitted = o.Revision, false
		r.loop.Follow(o)
	}
	return changed
}

// readmit looks again at the pods that wait for resources, once it is known what runs. The node may have more to give
// since this start, or since a new offer.
func (r *Reconciler) readmit() {
	if r.readmitted || !r.loop.synced {
		return
	}
	r.readmitted = true
	if _, err := r.Act.Store.Transact(func(tx *store.Tx) error {
		r.Act.freed(tx)
		return nil
	}); err != nil {
		r.Log.Warn("cannot release pods that wait for resources", "err", err)
	}
}

// finish hands an outcome to the loop, and reports it as an event.
func (r *Reconciler) finish(f finished) {
	f.Now = r.Act.Clock()
	r.loop.Finish(f.t, f.Outcome)
	if e, ok := report(f.Outcome); ok {
		if e.Took == 0 {
			e.Took = f.took
		}
		r.addEvent(f.pod, e)
	}
}

// finishAsset hands an outcome to the loop, and reports it as an event.
func (r *Reconciler) finishAsset(t *Tended, o Outcome) {
	o.Now = r.Act.Clock()
	r.loop.FinishAsset(t, o)
	r.reportAsset(t, o)
}

// found hands a look at an asset to the loop, and reports the look's failure as an event.
func (r *Reconciler) found(t *Tended, s AssetSighting) {
	now := r.Act.Clock()
	r.loop.Found(t, s, now)
	r.reportAsset(t, Outcome{Err: s.Err, Now: now})
}

// reportAsset adds an event for a failure, and for a success that is news.
func (r *Reconciler) reportAsset(t *Tended, o Outcome) {
	e, news := node.Event{}, false
	switch {
	case o.Err == nil:
		e, news = report(o)
	case !errors.Is(o.Err, context.Canceled) && !errors.Is(o.Err, node.ErrNotFound):
		r.Log.Warn("cannot tend an asset of the node", "asset", t.Asset().Key.String(), "err", o.Err)
		e, news = failed(o.Err), true
	}
	if !news {
		return
	}
	e.Time = o.Now
	if of, ok := o.Action.(interface{ Concerns() *node.Pod }); ok {
		e.Key, e.UID = of.Concerns().Key(), of.Concerns().UID()
	}
	r.Events.Add(e)
}

func (r *Reconciler) addEvent(pod *node.Pod, e node.Event) {
	e.Key, e.UID, e.Time = pod.Key(), pod.UID(), r.Act.Clock()
	r.Events.Add(e)
}
