package retry

import (
	"context"
	"log/slog"

	"k8s.io/client-go/util/workqueue"
)

// Queue holds keys to look at. A key that is added twice is in it once.
type Queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
}

// NewQueue returns an empty queue.
func NewQueue[K comparable]() Queue[K] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, Most)
	return Queue[K]{workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Work calls do for one key after the other until the queue is shut down. A key whose call fails comes back after a
// pause.
func (q Queue[K]) Work(ctx context.Context, log *slog.Logger, failing string, do func(context.Context, K) error) {
	for {
		key, done := q.Get()
		if done {
			return
		}
		if err := do(ctx, key); err != nil {
			if ctx.Err() == nil {
				log.Warn(failing, "key", key, "tries", q.NumRequeues(key), "err", err)
			}
			q.AddRateLimited(key)
		} else {
			q.Forget(key)
		}
		q.Done(key)
	}
}
