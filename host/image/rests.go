package image

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// The pauses of an order that failed, as upstream has them, and the time after which earlier failures no longer count.
const (
	restBase   = 10 * time.Second
	restMax    = 300 * time.Second
	restForget = 10 * time.Minute
)

// rests holds the pause after each order that failed. A pod that asks for the first time does not wait for it: the
// pod's owner may have mended the cause.
type rests struct {
	mu     sync.Mutex
	orders map[order]*rest
}

type rest struct {
	failures int32
	until    time.Time
	err      error
	asked    map[types.UID]time.Time // when each pod last did
}

// held returns until when the pod has to wait and why, or a nil error if it need not.
func (r *rests) held(o order, uid types.UID, now time.Time) (until time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest, ok := r.orders[o]
	if !ok || !now.Before(rest.until) {
		return time.Time{}, nil
	}
	if _, again := rest.asked[uid]; !again {
		return time.Time{}, nil
	}
	return rest.until, rest.err
}

// failed notes the failure of a pull and returns the time of the next try. All waiters of one
// pull report its failure; only the first counts.
func (r *rests) failed(o order, uid types.UID, err error, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.orders, func(_ order, old *rest) bool { return now.Sub(old.until) > restForget })
	current, ok := r.orders[o]
	if !ok {
		current = &rest{asked: map[types.UID]time.Time{}}
		r.orders[o] = current
	}
	// New pods may ask for years for what is never there.
	maps.DeleteFunc(current.asked, func(_ types.UID, at time.Time) bool { return now.Sub(at) > restForget })
	current.asked[uid], current.err = now, err
	if !now.Before(current.until) {
		current.failures++
		current.until = now.Add(node.Backoff(restBase, current.failures, restMax))
	}
	return current.until
}

// over forgets the failures of an order that succeeded.
func (r *rests) over(o order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.orders, o)
}
