package store

import (
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// memory is a journal without a disk.
type memory struct {
	mu       sync.Mutex
	records  map[string][]byte
	fail     error // of commits without leave to use what is kept back
	failAll  error
	reserved int // commits with that leave
}

var _ Journal = (*memory)(nil)

func newMemory() *memory { return &memory{records: map[string][]byte{}} }

func (m *memory) Commit(records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.write(m.fail, records)
}

func (m *memory) CommitReserved(records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved++
	return m.write(nil, records)
}

func (m *memory) write(fail error, records []Record) error {
	if m.failAll != nil {
		fail = m.failAll
	}
	if fail != nil {
		return fail
	}
	for _, r := range records {
		if r.Data == nil {
			delete(m.records, r.Name)
		} else {
			m.records[r.Name] = r.Data
		}
	}
	return nil
}

// all returns the records that the next start finds.
func (m *memory) all() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	var records []Record
	for name, data := range m.records {
		records = append(records, Record{Name: name, Data: data})
	}
	slices.SortFunc(records, func(a, b Record) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return records
}

func openStore(t *testing.T, journal *memory) *Store {
	t.Helper()
	clock, err := OpenClock(journal, journal.all())
	if err != nil {
		t.Fatal(err)
	}
	return New(journal, clock)
}

func key(name string) node.Key { return node.Key{Namespace: "default", Name: name} }

func slotOf(name string, uid types.UID) *node.Slot {
	return &node.Slot{Pod: podOf(name, uid)}
}

func podOf(name string, uid types.UID) *node.Pod {
	return &node.Pod{Source: node.SourceAPI, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: uid,
	}}}
}

// put writes slots in one transaction; a nil slot forgets its key.
func put(t *testing.T, s *Store, slots map[string]*node.Slot) int64 {
	t.Helper()
	revision, err := s.Transact(func(tx *Tx) error {
		for name, slot := range slots {
			tx.Put(key(name), slot)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
