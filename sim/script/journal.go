package script

import (
	"maps"
	"slices"

	"nodal/node"
)

// journal is what outlives the agent.
type journal map[string][]byte

var _ node.Journal = journal{}

func (j journal) Commit(records ...node.Record) error {
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
func (j journal) CommitReserved(records ...node.Record) error { return j.Commit(records...) }

func (j journal) records() []node.Record {
	var records []node.Record
	for _, name := range slices.Sorted(maps.Keys(j)) {
		records = append(records, node.Record{Name: name, Data: j[name]})
	}
	return records
}
