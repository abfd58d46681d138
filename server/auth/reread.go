package auth

import (
	"log/slog"
	"sync"
	"time"
)

// reread is a value that lives in files. It is read on demand, if it is older than its pace or was outdated by a watch
// (watch.go). Reading needs no watch, misses no change and follows replaced directories and symbolic links.
type reread[T any] struct {
	load func() (*T, error) // a nil value keeps the last one: a file half replaced is no news
	log  *slog.Logger
	pace *pace

	mu      sync.Mutex
	value   *T
	at      time.Time
	problem string
}

// newReread reads the value for the first time, which has to succeed.
func newReread[T any](log *slog.Logger, pace *pace, load func() (*T, error)) (*reread[T], error) {
	value, err := load()
	if value == nil {
		return nil, err
	}
	r := &reread[T]{load: load, log: log, pace: pace, value: value, at: time.Now()}
	r.report(err)
	return r, nil
}

// get returns the current value, never nil.
func (r *reread[T]) get(now time.Time) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); age >= 0 && age < r.pace.every() {
		return r.value
	}
	return r.read(now)
}

// outdate has the value read again when it is next asked for.
func (r *reread[T]) outdate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
}

// renew returns the value as it is now, for a caller that has changed it.
func (r *reread[T]) renew(now time.Time) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read(now)
}

func (r *reread[T]) read(now time.Time) *T {
	value, err := r.load()
	if value != nil {
		r.value = value
	}
	r.at = now
	r.report(err)
	return r.value
}

// report logs a problem once, not at each reading for as long as it lasts.
func (r *reread[T]) report(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if problem != "" && problem != r.problem {
		r.log.Warn("cannot reread credentials; the previous ones stay in force", "err", err)
	}
	r.problem = problem
}
