// Package retry does again what has failed: a cluster is a network away, and
// comes back.
package retry

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The pauses after failures: each is twice the one before, and most end at Most.
const (
	first = 200 * time.Millisecond
	Most  = 30 * time.Second
)

// Until tries until it succeeds or the context ends, with pauses no longer than
// most. What is said of each failure comes with its cause.
func Until(ctx context.Context, log *slog.Logger, failing string, most time.Duration, do func(context.Context) error) {
	pause := wait.Backoff{Duration: first, Factor: 2, Jitter: 0.1, Steps: 30, Cap: most}
	for ctx.Err() == nil {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		log.Warn(failing, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause.Step()):
		}
	}
}

// glance is how often somebody who sleeps looks at the clock.
const glance = time.Minute

// Sleep waits for so long, or until the clock says that so much time has gone by: while
// a machine sleeps, or is put away whole, timers stand still.
func Sleep(ctx context.Context, d time.Duration, clock func() time.Time) error {
	until := clock().Round(0).Add(d)
	over := time.NewTimer(d)
	defer over.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
	for clock().Before(until) {
		select {
		case <-look.C:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Hopeless says that a node would answer the same again.
func Hopeless(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}
