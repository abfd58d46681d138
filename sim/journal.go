package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"nodal/node"
	"nodal/node/store"
)

var _ store.Journal = (*journal)(nil)

// journal simulates the disk that keeps records. It outlives agents, may be full, and may kill an
// agent in a commit.
type journal struct {
	records map[string][]byte
	full    bool
	crash   func() crashPoint // called at each commit
	crashed bool              // the agent died in a commit
}

// crashPoint names the place in a commit at which the agent dies.
type crashPoint uint8

const (
	goesOn crashPoint = iota
	beforeDurable
	afterDurable
)

var errCrashed = errors.New("the agent died in this commit")

func newJournal() *journal {
	return &journal{records: map[string][]byte{}, crash: func() crashPoint { return goesOn }}
}

// Commit writes records unless the disk is full.
func (j *journal) Commit(records ...store.Record) error {
	if j.full {
		return fmt.Errorf("write records: %w", node.ErrNoSpace)
	}
	return j.CommitReserved(records...)
}

// CommitReserved writes records even if the disk is full.
func (j *journal) CommitReserved(records ...store.Record) error {
	if j.crashed {
		return errCrashed
	}
	point := j.crash()
	j.crashed = point != goesOn
	if point == beforeDurable {
		return errCrashed
	}
	for _, r := range records {
		if r.Data == nil {
			delete(j.records, r.Name)
			continue
		}
		j.records[r.Name] = slices.Clone(r.Data)
	}
	if j.crashed {
		return errCrashed
	}
	return nil
}

// load returns what a new agent finds.
func (j *journal) load() []store.Record {
	j.crashed = false
	var records []store.Record
	for _, name := range slices.Sorted(maps.Keys(j.records)) {
		records = append(records, store.Record{Name: name, Data: j.records[name]})
	}
	return records
}
