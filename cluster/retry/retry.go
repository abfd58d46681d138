// Package retry repeats what has failed: a cluster is a network away, and comes back.
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

// Hopeless says that a node would answer the same again.
func Hopeless(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}
