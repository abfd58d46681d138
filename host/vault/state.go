package vault

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"nodal/node/seal"
)

// State describes the key and what it seals. It does not wait for a change of keys that is under way.
func (j *Journal) State() seal.State {
	if s := j.shown.Load(); s != nil {
		return *s
	}
	return seal.State{Source: j.Source, Place: j.present.place()}
}

// tell keeps the present state for State, and wakes those that wait for another one.
func (j *Journal) tell() {
	s := seal.State{Source: j.Source, Place: j.present.place(), Records: len(j.sealed), Unreadable: len(j.locked)}
	if j.key != nil {
		s.KeyID, s.Older = j.key.id, j.older(j.key)
	}
	f := j.faults
	if s.Unreadable == 0 {
		f.sources = nil // no record asks for the keys that are away
	} else if f.present != nil {
		delete(f.sources, j.Source.String()) // the same fault once more
	}
	s.Fault = f.text()
	if before := j.shown.Swap(&s); before == nil || *before != s {
		j.bell.Ring()
	}
}

// Changed returns a channel that is closed when the state changes.
func (j *Journal) Changed() <-chan struct{} { return j.bell.Heard() }

// keysOf returns the keys of a map, sorted.
func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ErrElsewhere means that only the agent's own process can read the key.
var ErrElsewhere = errors.New("systemd hands it to the agent alone")

// Check returns what is wrong with the key that an agent would use. sealed says whether records are sealed, so that a
// missing key beside the journal is lost. It makes no key, and asks a plugin for its status alone.
func Check(ctx context.Context, c Config, sealed bool) (place string, err error) {
	p := newProvider(c.Source, c)
	switch p := p.(type) {
	case *kmsKeys:
		_, err = p.plugin.Status(ctx)
	case *fileKeys:
		if p.noUnit {
			return c.Source.String(), ErrElsewhere
		}
		_, err = p.opening(ctx, nil)
		if c.Source.Kind == seal.Beside && !sealed && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return p.place(), err
}
