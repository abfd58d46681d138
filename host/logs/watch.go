package logs

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollPeriod is the interval of looks at a log whose directory cannot be watched.
const pollPeriod = 500 * time.Millisecond

// watcher wakes a follower when something happens in the directory of its log:
// a write, and also the rename and the create of a rotation.
type watcher struct {
	notify *fsnotify.Watcher // nil: poll
}

// watch watches dir. Machines allow few inotify instances (128 a user by default); a follower
// that gets none polls instead of failing.
func watch(dir string) watcher {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return watcher{}
	}
	if err := notify.Add(dir); err != nil {
		notify.Close()
		return watcher{}
	}
	return watcher{notify: notify}
}

// wait returns nil when the directory may have changed or exited is closed.
func (w watcher) wait(ctx context.Context, exited <-chan struct{}) error {
	if w.notify == nil {
		return poll(ctx, exited)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-exited:
	case <-w.notify.Events:
	case <-w.notify.Errors: // events were lost: looking again makes up for it
	}
	return nil
}

func poll(ctx context.Context, exited <-chan struct{}) error {
	timer := time.NewTimer(pollPeriod)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-exited:
	case <-timer.C:
	}
	return nil
}

func (w watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
}
