package auth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"nodal/host/replace"
)

const (
	useUnit  = time.Minute      // by which the last use of a token is known
	keepUses = 10 * time.Minute // at most this much of it is lost with the agent
)

// uses knows when tokens were last used. A file keeps that, and is written now and then: a request writes nothing.
type uses struct {
	file string // empty: they end with the agent
	log  *slog.Logger

	mu      sync.Mutex
	known   map[string]*use // by the token's id
	pending atomic.Bool     // a write is due
}

// use is when one token was last used.
type use struct {
	last atomic.Int64 // unix seconds, in useUnit; zero: never
	of   *uses
}

// newUses reads what the last agent left. A file that does not parse is no reason not to start.
func newUses(file string, log *slog.Logger) *uses {
	u := &uses{file: file, log: log, known: map[string]*use{}}
	if file == "" {
		return u
	}
	var kept map[string]time.Time
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Warn("cannot read when tokens were last used", "err", err)
	}
	for id, at := range kept {
		u.of(id).last.Store(at.Unix())
	}
	return u
}

// of returns the use of a token.
func (u *uses) of(id string) *use {
	u.mu.Lock()
	defer u.mu.Unlock()
	one := u.known[id]
	if one == nil {
		one = &use{of: u}
		u.known[id] = one
	}
	return one
}

// forget drops a token that is gone.
func (u *uses) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.known, id)
}

// keep drops all but the tokens of a list.
func (u *uses) keep(l *tokenList) {
	u.mu.Lock()
	defer u.mu.Unlock()
	left := map[string]*use{}
	for _, t := range l.byName {
		left[t.id.Credential] = t.use
	}
	u.known = left
}

// mark notes a use at a time.
func (u *use) mark(now time.Time) {
	at := now.Truncate(useUnit).Unix()
	if u.last.Load() == at || u.last.Swap(at) == at {
		return
	}
	if u.of.file != "" && u.of.pending.CompareAndSwap(false, true) {
		time.AfterFunc(keepUses, u.of.save)
	}
}

// at returns the time of the last use, or zero.
func (u *use) at() time.Time {
	if at := u.last.Load(); at != 0 {
		return time.Unix(at, 0).UTC()
	}
	return time.Time{}
}

func (u *uses) save() {
	u.pending.Store(false)
	kept := map[string]time.Time{}
	u.mu.Lock()
	for id, one := range u.known {
		if at := one.at(); !at.IsZero() {
			kept[id] = at
		}
	}
	u.mu.Unlock()
	data, err := json.Marshal(kept)
	if err == nil {
		err = replace.File(u.file, append(data, '\n'), 0o600)
	}
	if err != nil {
		u.log.Warn("cannot keep when tokens were last used", "err", err)
	}
}
