package evict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/store"
)

// Pressures measures how far the node is from running short.
type Pressures interface {
	Measure(context.Context) health.Pressure
}

// Figures measures what pods use. A result lacks the pods that could not be measured; the error says why.
type Figures interface {
	// Memory returns the working set of pods.
	Memory(context.Context, []*node.Pod) (map[types.UID]node.PodUse, error)
	// Tasks returns how many processes and threads pods have.
	Tasks(context.Context, []*node.Pod) (map[types.UID]node.PodUse, error)
	// Disk returns the bytes or inodes that files of pods take, as of now.
	Disk(_ context.Context, _ []*node.Pod, parts node.DiskParts, inodes bool) (map[types.UID]node.PodUse, error)
}

// Images removes the images that nothing uses.
type Images interface {
	Reclaim(context.Context) error
}

// Logs removes the logs that are kept although nothing needs them, and returns their bytes.
type Logs interface {
	Reclaim() (freed int64, err error)
}

const (
	// cleanupPatience bounds the time for which an evicted pod holds back the next eviction, as upstream has it.
	cleanupPatience = 30 * time.Second
	// remainsPatience bounds the time for which images wait for the removal of containers that use them.
	remainsPatience = 10 * time.Second
)

// Relief ends shortages of the node. Its methods but Ranking are for one goroutine.
type Relief struct {
	Store     *store.Store
	Pressures Pressures
	Figures   Figures
	Images    Images
	Logs      Logs
	// Scarce tells the reconciler whether finished pods have to give up what is left of their containers.
	Scarce   func(bool)
	MaxGrace func() time.Duration // for pods that a soft threshold ends; below zero means no limit
	Events   *store.Events
	Log      *slog.Logger
	Clock    func() time.Time
	// Evicted is called for each pod that is evicted, with the signal and the age of its figures; nil disables it.
	Evicted func(signal string, age time.Duration)
	// Wakes signals that the kernel has seen a shortage; nil disables it. Arm is called after each pass: the next notice is
	// wanted when the room that is left now is used up. It may be nil.
	Wakes <-chan struct{}
	Arm   func(health.Pressure)

	last       health.Pressure
	scarce     bool
	reclaiming bool
	reclaimed  time.Time
	ended      time.Time
	ending     map[types.UID]time.Time // since when, of evicted pods
	spared     string                  // signal for which it was told that no pod can be evicted
}

// Run answers shortages until the context ends.
func (r *Relief) Run(ctx context.Context) {
	reclaimed := make(chan struct{}, 1)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var passed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.Wakes:
			// Near a threshold notices may come without end.
			if rest := memoryPace - time.Since(passed); rest > 0 {
				timer.Reset(rest)
				continue
			}
		case <-reclaimed:
			r.Cleared()
		}
		before := r.last
		passed = time.Now()
		if step := r.Pass(ctx); step.Do == Reclaim {
			go func() {
				r.Reclaim(ctx)
				reclaimed <- struct{}{}
			}()
		}
		if r.Arm != nil {
			r.Arm(r.last)
		}
		timer.Reset(Pace(before, r.last))
	}
}

// Cleared notes that what a pass has asked to reclaim was.
func (r *Relief) Cleared() { r.reclaiming = false }

// Pass measures the node, decides, and evicts a pod if that is decided. If it returns Reclaim, the caller runs that and
// calls Cleared. No other pass asks for it meanwhile.
func (r *Relief) Pass(ctx context.Context) Step {
	now, p := r.Clock(), r.Pressures.Measure(ctx)
	views, _ := r.Store.Views()
	r.last = p
	due := p.Due()
	r.setScarce(due)
	step := Next(Situation{
		Due: due, Ending: r.ends(views, now), Reclaiming: r.reclaiming, Reclaimed: r.reclaimed, Ended: r.ended, Now: now,
	})
	if step.Do == Rest {
		r.spared = ""
	}
	if step.Do == Reclaim || step.Do == Evict && r.spared != step.For.Rule.Signal {
		r.Events.Add(node.Event{
			Time: now, Warning: true, Reason: "EvictionThresholdMet",
			Message: fmt.Sprintf("Attempting to reclaim %s", health.Lacks(step.For.Rule.Signal)),
		})
	}
	switch step.Do {
	case Reclaim:
		r.reclaiming, r.reclaimed = true, now
	case Evict:
		r.evict(ctx, step.For, p, views)
	}
	return step
}

// setScarce has finished pods give up what is left of their containers while a disk is short.
func (r *Relief) setScarce(due []health.Crossing) {
	scarce := slices.ContainsFunc(due, func(c health.Crossing) bool { return health.OfDisk(c.Rule.Signal) })
	if scarce != r.scarce {
		r.scarce = scarce
		r.Scarce(scarce)
	}
}

// ends reports whether an evicted pod still holds resources, and has not done so for too long.
func (r *Relief) ends(views []store.View, now time.Time) (some bool) {
	ending := map[types.UID]time.Time{}
	for _, v := range views {
		if !holds(v, r.scarce) {
			continue
		}
		since, known := r.ending[v.Slot.Pod.UID()]
		if !known {
			since = now
		}
		ending[v.Slot.Pod.UID()] = since
		some = some || now.Sub(since) < cleanupPatience
	}
	r.ending = ending
	if some {
		r.ended = now
	}
	return some
}

// holds reports whether a pod was evicted and still has something of the node. While a disk is short, that includes
// its dead containers.
func holds(v store.View, scarce bool) bool {
	if v.Gone || v.Slot == nil || v.Slot.Newer || v.Slot.Termination == nil || v.Slot.Termination.Reason != node.Evicted {
		return false
	}
	if v.Slot.Result == nil || v.Got == nil || !v.Got.Laid[node.Volumes].Gone || v.Got.Runs(v.Slot.Pod.UID()) {
		return true
	}
	return scarce && !v.Got.Empty()
}

// Reclaim removes the logs of deleted pods, once finished pods have given up their containers. Unless that was enough, it
// removes the images that nothing uses, too.
func (r *Relief) Reclaim(ctx context.Context) {
	r.awaitRemains(ctx)
	freed, err := r.Logs.Reclaim()
	if err != nil {
		r.Log.Warn("cannot remove the logs of deleted pods for a disk that runs short", "err", err)
	}
	if freed > 0 && !short(r.Pressures.Measure(ctx)) {
		return
	}
	if err := r.Images.Reclaim(ctx); err != nil && ctx.Err() == nil {
		r.Log.Warn("cannot remove unused images for a disk that runs short", "err", err)
	}
}

// awaitRemains waits until no finished pod has containers left, but not for long.
func (r *Relief) awaitRemains(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, remainsPatience)
	defer cancel()
	for waiting.Err() == nil {
		changed := r.Store.Changed()
		if views, _ := r.Store.Views(); !remain(views) {
			return
		}
		select {
		case <-changed:
		case <-waiting.Done():
		}
	}
}

// short reports whether a disk is short.
func short(p health.Pressure) bool {
	return slices.ContainsFunc(p.Due(), func(c health.Crossing) bool { return health.OfDisk(c.Rule.Signal) })
}

// remain reports whether a finished pod has containers or sandboxes left.
func remain(views []store.View) bool {
	for _, v := range views {
		if !v.Gone && v.Slot != nil && !v.Slot.Newer && v.Slot.Result != nil && !v.Got.Empty() {
			return true
		}
	}
	return false
}

// evict ends the first pod of the ranking that can be ended.
func (r *Relief) evict(ctx context.Context, c health.Crossing, p health.Pressure, views []store.View) {
	ranked, err := r.rank(ctx, c.Rule.Signal, p.Apart, views)
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("cannot measure some pods for an eviction", "signal", c.Rule.Signal, "err", err)
	}
	for _, pod := range ranked {
		text := message(c, pod)
		evicted, err := end(r.Store, pod.Key(), pod.UID(), node.Termination{
			Requested: r.Clock(), Reason: node.Evicted, Message: text, Signal: c.Rule.Signal, Grace: grace(c, pod.Pod, r.MaxGrace()),
		})
		if err != nil {
			r.Log.Error("cannot evict a pod", "pod", pod.Key().String(), "err", err)
			return // the journal refuses the others too
		}
		if evicted {
			r.spared = ""
			r.report(c, p, pod, text)
			return
		}
	}
	if r.spared != c.Rule.Signal {
		r.spared = c.Rule.Signal
		r.Log.Warn("the node runs short, and no pod can be evicted that would help", "signal", c.Rule.Signal)
	}
}

// report tells and counts that a pod was evicted.
func (r *Relief) report(c health.Crossing, p health.Pressure, pod Candidate, text string) {
	now := r.Clock()
	r.Log.Warn("a pod is evicted because the node runs short", "pod", pod.Key().String(), "signal", c.Rule.Signal,
		"left", c.Signal.Left, "least", c.Least, "rank", pod.Why(health.Lacks(c.Rule.Signal)))
	r.Events.Add(node.Event{
		Key: pod.Key(), UID: pod.UID(), Time: now, Warning: true, Reason: node.Evicted, Message: text,
	})
	if r.Evicted != nil {
		r.Evicted(c.Rule.Signal, now.Sub(p.At))
	}
}

// Ranking returns the pods that would be evicted for a signal, in their order. An empty signal stands for the one that
// needs attention. It may be called from any goroutine.
func (r *Relief) Ranking(ctx context.Context, signal string, p health.Pressure) (of string, all []node.EvictionCandidate, err error) {
	of = cmp.Or(signal, attention(p))
	views, _ := r.Store.Views()
	ranked, err := r.rank(ctx, of, p.Apart, views)
	for _, c := range ranked {
		all = append(all, c.shown(health.Lacks(of)))
	}
	return of, all, err
}

// rank measures the candidates, and orders them. An error names those that could not be measured.
func (r *Relief) rank(ctx context.Context, signal string, apart bool, views []store.View) ([]Candidate, error) {
	pods, of := Candidates(views), health.Lacks(signal)
	var use map[types.UID]node.PodUse
	var err error
	switch {
	case health.OfDisk(signal):
		use, err = r.Figures.Disk(ctx, pods, partsOf(signal, apart), of == health.Inodes)
	case of == health.PIDs:
		use, err = r.Figures.Tasks(ctx, pods)
	case of != "":
		use, err = r.Figures.Memory(ctx, pods)
	default:
		return nil, errors.New("no such signal")
	}
	return Rank(of, With(pods, use)), err
}
