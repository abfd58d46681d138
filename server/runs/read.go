package runs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	"nodal/server/wire"
)

// Files reads what containers wrote.
type Files interface {
	// Read writes the log of a run to sink. With Follow it goes on until Exited is closed
	// and the log is read to its end. It returns node.ErrNotFound if there is no log.
	Read(ctx context.Context, run node.LogRun, options node.LogOptions, sink node.LogSink) error
	// OfPod lists the log files that a pod still has.
	OfPod(node.Key, types.UID) ([]node.LogFile, error)
	// Kept lists the log files of deleted pods, and of runs that were removed.
	Kept() ([]node.LogFile, error)
}

// Store finds pods and tells of their changes.
type Store interface {
	Pods
	Changed() <-chan struct{}
	Views() ([]store.View, int64)
	Holds(types.UID) bool
}

// Logs finds and reads the logs of containers.
type Logs struct {
	Pods    Store
	Site    node.Site
	Files   Files
	Stopped <-chan struct{} // closed when the agent stops
}

// Read reads a run's log until the run, the client or the agent ends.
func (l Logs) Read(ctx context.Context, of Logged, o node.LogOptions, sink node.LogSink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.Follow {
		exited := make(chan struct{})
		o.Exited = exited
		go func() {
			if l.untilExit(ctx, of) {
				close(exited)
				return
			}
			cancel(wire.ErrStopping)
		}()
	}
	run := node.LogRun{
		Key: of.key, UID: of.run.UID, Container: of.run.Name,
		Attempt: of.run.Attempt, Path: of.run.LogPath, ID: of.run.ID, Kept: of.kept,
	}
	err := l.Files.Read(ctx, run, o, sink)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// untilExit waits until the run is over. It returns false if the request or the agent
// ends before.
func (l Logs) untilExit(ctx context.Context, of Logged) bool {
	for {
		changed := l.Pods.Changed()
		if !l.running(of) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-l.Stopped:
			return false
		}
	}
}

func (l Logs) running(of Logged) bool {
	view, ok := l.Pods.View(of.key)
	if !ok {
		return false
	}
	for _, c := range view.Got.Containers {
		if c.ID == of.run.ID {
			return c.State == node.ContainerRunning
		}
	}
	return false
}

// SecondsBefore returns the time of a log's sinceSeconds. It does not overflow: a request
// for the last million years gets all.
func SecondsBefore(now time.Time, seconds int64) time.Time {
	return time.Unix(max(now.Unix()-seconds, 0), int64(now.Nanosecond()))
}
