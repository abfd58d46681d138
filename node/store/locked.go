package store

import (
	"errors"
	"fmt"
	"strings"

	"nodal/node"
)

// Locked is the record of an object that cannot be read now.
type Locked struct {
	Name string
	Err  error // why
}

// Lock publishes the objects of such records. Their names are known, and nothing else but the reason.
func (s *Store) Lock(locked []Locked) (problems []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range locked {
		object, err := lockedObject(l)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if errors.Is(l.Err, ErrNewer) {
			s.withheld[l.Name] = l.Err
		}
		s.publishObject(object.Ref(), object)
	}
	return problems
}

func lockedObject(l Locked) (*node.Object, error) {
	kind, place, _ := strings.Cut(strings.TrimPrefix(l.Name, objectRecords), "/")
	namespace, name, ok := strings.Cut(place, "_")
	of, known := node.KindNamed(kind)
	if !ok || !known {
		return nil, fmt.Errorf("record %s: its name is not that of an object", l.Name)
	}
	value := of.New()
	value.SetNamespace(namespace)
	value.SetName(name)
	object := node.NewObject(value)
	object.Locked = l.Err
	return object, nil
}

// Reopen publishes records that open after the start, and those that no longer do. No transaction runs while read does, so
// that what it has read is not older than what is published.
func (s *Store) Reopen(read func() (opened []Record, locked []Locked)) []error {
	s.commit.Lock()
	defer s.commit.Unlock()
	opened, locked := read()
	return append(s.Lock(locked), s.Restore(opened)...)
}
