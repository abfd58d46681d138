package cri

import "slices"

// table keeps rows by ID in order of insertion, so that every list of a simulated run repeats
// exactly.
type table[T any] struct {
	rows  map[string]T
	order []string
}

func newTable[T any]() *table[T] {
	return &table[T]{rows: map[string]T{}}
}

func (t *table[T]) get(id string) (T, bool) {
	row, ok := t.rows[id]
	return row, ok
}

func (t *table[T]) put(id string, row T) {
	if _, ok := t.rows[id]; !ok {
		t.order = append(t.order, id)
	}
	t.rows[id] = row
}

func (t *table[T]) remove(id string) {
	delete(t.rows, id)
	if i := slices.Index(t.order, id); i >= 0 {
		t.order = slices.Delete(t.order, i, i+1)
	}
}

func (t *table[T]) all() []T {
	rows := make([]T, 0, len(t.order))
	for _, id := range t.order {
		rows = append(rows, t.rows[id])
	}
	return rows
}
