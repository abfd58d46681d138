package agent

import (
	"context"

	"nodal/host/lockfile"
)

// holdLock waits for the lock file, if one is configured. The context that it returns ends when another process wants the
// lock, if the agent is to make room then. release gives the lock back.
func holdLock(ctx context.Context, o Options) (held context.Context, release func() error, err error) {
	process := o.Config.Process
	if process.LockFile == "" {
		return ctx, func() error { return nil }, nil
	}
	o.Log.Info("waiting for the lock file", "file", process.LockFile)
	lock, err := lockfile.Take(ctx, process.LockFile)
	if err != nil {
		return ctx, nil, err
	}
	if !process.ExitOnContention {
		return ctx, lock.Release, nil
	}
	held, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		if err := lock.Contended(held); err != nil && held.Err() == nil {
			o.Log.Error("cannot watch the lock file; the agent ends", "err", err)
			return
		}
		if ctx.Err() == nil {
			o.Log.Info("another process wants the lock file; the agent ends, and pods keep running", "file", process.LockFile)
		}
	}()
	return held, func() error { cancel(); return lock.Release() }, nil
}
