package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"nodal/node"
)

// order is one pull to be made: an image, and the credential to pull it with.
type order struct {
	ref string // with a tag or digest
	as  fingerprint
}

// flights shares one pull of an order among all that wait for it, and bounds how many run
// at a time and how often one begins. A pull ends when its last waiter leaves.
type flights struct {
	slots chan struct{} // nil means no bound
	pace  *rate.Limiter

	mu    sync.Mutex
	byKey map[order]*flight
}

type flight struct {
	node.Pull // guarded by the lock of all flights

	cancel context.CancelFunc
	done   chan struct{}
	pulled pulled
	err    error
}

// pulled is the result of a pull.
type pulled struct {
	image node.LocalImage
	took  time.Duration // from its turn on
}

// fetch makes a pull.
type fetch func(context.Context) (node.LocalImage, error)

// newFlights applies the limits that are positive.
func newFlights(parallel int, perSecond float64, burst int) *flights {
	f := &flights{pace: rate.NewLimiter(limitOf(perSecond), max(burst, 1)), byKey: map[order]*flight{}}
	if parallel > 0 {
		f.slots = make(chan struct{}, parallel)
	}
	return f
}

// setPace applies the limit if it is positive. Pulls that wait already begin as they were told.
func (f *flights) setPace(perSecond float64, burst int) {
	f.pace.SetBurst(max(burst, 1))
	f.pace.SetLimit(limitOf(perSecond))
}

func limitOf(perSecond float64) rate.Limit {
	if perSecond <= 0 {
		return rate.Inf
	}
	return rate.Limit(perSecond)
}

// do joins the pull of o, starting it if none is in flight, and waits for its result.
func (f *flights) do(ctx context.Context, o order, who node.PullWaiter, get fetch) (pulled, error) {
	flight := f.join(o, who, get)
	defer f.leave(o, who, flight)
	select {
	case <-flight.done:
		return flight.pulled, flight.err
	case <-ctx.Done():
		return pulled{}, fmt.Errorf("pull image %s: %w: %w", o.ref, ctx.Err(), node.ErrUnknown)
	}
}

func (f *flights) join(o order, who node.PullWaiter, get fetch) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined, ok := f.byKey[o]
	if !ok {
		// Its own context: the pull outlives the waiter that began it.
		ctx, cancel := context.WithCancel(context.Background())
		joined = &flight{Pull: node.Pull{Ref: o.ref, Asked: time.Now()}, cancel: cancel, done: make(chan struct{})}
		f.byKey[o] = joined
		go f.run(ctx, o, joined, get)
	}
	joined.Waiters = append(joined.Waiters, who)
	return joined
}

func (f *flights) leave(o order, who node.PullWaiter, left *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(left.Waiters, who)
	if left.Waiters = slices.Delete(left.Waiters, i, i+1); len(left.Waiters) == 0 {
		left.cancel()
		f.forget(o, left)
	}
}

// forget removes the flight unless a newer one has taken its place.
func (f *flights) forget(o order, over *flight) {
	if f.byKey[o] == over {
		delete(f.byKey, o)
	}
}

func (f *flights) run(ctx context.Context, o order, flight *flight, get fetch) {
	if flight.err = f.acquire(ctx, o.ref); flight.err == nil {
		begin := f.begin(flight)
		flight.pulled.image, flight.err = get(ctx)
		flight.pulled.took = time.Since(begin)
		f.release()
	}
	f.mu.Lock()
	f.forget(o, flight)
	f.mu.Unlock()
	close(flight.done)
}

// begin notes that a flight has its turn.
func (f *flights) begin(flight *flight) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight.Began = time.Now()
	return flight.Began
}

// all returns the pulls under way, the oldest first.
func (f *flights) all() []node.Pull {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pulls []node.Pull
	for _, flight := range f.byKey {
		pull := flight.Pull
		pull.Waiters = slices.Clone(pull.Waiters)
		pulls = append(pulls, pull)
	}
	slices.SortFunc(pulls, func(a, b node.Pull) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.Ref, b.Ref)) })
	return pulls
}

// acquire waits for a turn. Upstream fails a pull that comes too soon; here the pull waits, which delays the pod less
// than the pause after a failure.
func (f *flights) acquire(ctx context.Context, ref string) error {
	err := f.pace.Wait(ctx)
	if err == nil && f.slots != nil {
		select {
		case f.slots <- struct{}{}:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("wait to pull image %s: %w: %w", ref, err, node.ErrUnknown)
	}
	return nil
}

func (f *flights) release() {
	if f.slots != nil {
		<-f.slots
	}
}
