// Package retry repeats requests that failed: a cluster is a network away, and comes back.
//
// Start reading at Until; Queue repeats work by keys, and Alarm sleeps in step with the wall clock.
package retry

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The first pause after a failure, and the longest. Each pause is twice the one before.
const (
	first = 200 * time.Millisecond
	Most  = 30 * time.Second
)

// Until calls do until it succeeds or the context ends, with pauses of at most most. It logs failing with the cause of
// each failure.
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

// Hopeless reports whether a node would answer the same again.
func Hopeless(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}
