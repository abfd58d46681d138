package script

import (
	"maps"
	"slices"

	"nodal/node/store"
)

// journal keeps records in memory. It outlives the agent.
type journal map[string][]byte

var _ store.Journal = journal{}

func (j journal) Commit(records ...store.Record) error {
	for _, r := range records {
		if r.Data == nil {
			delete(j, r.Name)
		} else {
			j[r.Name] = r.Data
		}
	}
	return nil
}

// CommitReserved is Commit: this disk is never full.
func (j journal) CommitReserved(records ...store.Record) error { return j.Commit(records...) }

func (j journal) records() []store.Record {
	var records []store.Record
	for _, name := range slices.Sorted(maps.Keys(j)) {
		records = append(records, store.Record{Name: name, Data: j[name]})
	}
	return records
}
