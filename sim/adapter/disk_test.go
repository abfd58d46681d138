package adapter

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"nodal/node"
	"nodal/node/store"
)

// disk keeps the records that outlive an agent.
type disk struct {
	mu      sync.Mutex
	records map[string][]byte
}

func newDisk() *disk { return &disk{records: map[string][]byte{}} }

// load returns the records that a new agent finds.
func (d *disk) load() []store.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	var records []store.Record
	for _, name := range slices.Sorted(maps.Keys(d.records)) {
		records = append(records, store.Record{Name: name, Data: d.records[name]})
	}
	return records
}

// lose drops the record of a pod.
func (d *disk) lose(key node.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.records, "pods/"+key.Namespace+"_"+key.Name)
}

// session is one agent's access to the disk. It refuses all writes once the agent is dead.
type session struct {
	disk   *disk
	strike func() moment // called at each commit
	die    func()        // ends the agent

	mu   sync.Mutex
	dead bool
}

// moment names the place in a commit at which an agent dies.
type moment uint8

const (
	notNow moment = iota
	beforeDurable
	afterDurable
)

var _ store.Journal = (*session)(nil)

var errDead = errors.New("the agent is dead")

func (s *session) Commit(records ...store.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errDead
	}
	when := s.strike()
	if when != beforeDurable {
		s.disk.write(records)
	}
	if when != notNow {
		s.dead = true
		s.die()
		return errDead
	}
	return nil
}

func (s *session) CommitReserved(records ...store.Record) error { return s.Commit(records...) }

// end refuses all further writes.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
}

func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

func (d *disk) write(records []store.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range records {
		if r.Data == nil {
			delete(d.records, r.Name)
		} else {
			d.records[r.Name] = slices.Clone(r.Data)
		}
	}
}
