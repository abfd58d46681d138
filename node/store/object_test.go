package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func configMap(name, mode string) *node.Object {
	return node.NewObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"mode": mode},
	})
}

func write(t *testing.T, s *Store, fn func(*Tx)) int64 {
	t.Helper()
	at, err := s.Transact(func(tx *Tx) error { fn(tx); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// changesSince lists what changed in short: "one=fast other-".
func changesSince(t *testing.T, s *Store, revision int64) string {
	t.Helper()
	changes, _, err := s.ObjectsSince(revision)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, c := range changes {
		if c.Gone {
			told = append(told, c.Object.Meta().Name+"-")
		} else {
			told = append(told, c.Object.Meta().Name+"="+c.Object.ConfigMap().Data["mode"])
		}
	}
	return strings.Join(told, " ")
}

func TestObjectsSinceReturnsTheLatestStateOfEachChangedObject(t *testing.T) {
	s := openStore(t, newMemory())
	begun := s.Revision()
	first := write(t, s, func(tx *Tx) { tx.PutObject(configMap("one", "fast")); tx.PutObject(configMap("other", "fast")) })
	second := write(t, s, func(tx *Tx) { tx.PutObject(configMap("one", "slow")) })
	third := write(t, s, func(tx *Tx) { tx.DropObject(configMap("other", "").Ref()) })
	for _, c := range []struct {
		since int64
		want  string
	}{
		{begun, "one=slow other-"},
		{first, "one=slow other-"},
		{second, "other-"},
		{third, ""},
	} {
		if got := changesSince(t, s, c.since); got != c.want {
			t.Errorf("since %d: got %q, want %q", c.since, got, c.want)
		}
	}
}

func TestDeletingAMissingObjectIsNoChange(t *testing.T) {
	s := openStore(t, newMemory())
	begun := s.Revision()
	write(t, s, func(tx *Tx) { tx.DropObject(configMap("one", "").Ref()) })
	if got := changesSince(t, s, begun); got != "" {
		t.Errorf("got %q, want no change", got)
	}
}

func TestHistoryOfObjectsBeforeTheOldestKeptDeletionIsCompacted(t *testing.T) {
	s := openStore(t, newMemory())
	begun := s.Revision()
	var first int64
	for i := range keptTombstone + 1 {
		one := configMap(fmt.Sprint("o", i), "fast")
		write(t, s, func(tx *Tx) { tx.PutObject(one) })
		at := write(t, s, func(tx *Tx) { tx.DropObject(one.Ref()) })
		if i == 0 {
			first = at
		}
	}
	if _, _, err := s.ObjectsSince(begun); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("since before the first deletion: got %v, want %v", err, node.ErrCompacted)
	}
	if got := strings.Count(changesSince(t, s, first), "-"); got != keptTombstone {
		t.Errorf("since the first deletion: got %d deletions, want %d", got, keptTombstone)
	}
	if _, _, err := s.ObjectsSince(s.Revision() + 1); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("since a revision to come: got %v, want %v", err, node.ErrCompacted)
	}
}

func TestHistoryOfObjectsBeginsAnewWithTheAgent(t *testing.T) {
	journal := newMemory()
	s := openStore(t, journal)
	last := write(t, s, func(tx *Tx) { tx.PutObject(configMap("one", "fast")) })
	again := openStore(t, journal)
	if problems := again.Restore(journal.all()); len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, _, err := again.ObjectsSince(last); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("since a revision of before: got %v, want %v", err, node.ErrCompacted)
	}
	if object, ok := again.Object(configMap("one", "").Ref()); !ok || object.Revision <= last {
		t.Errorf("got %+v, %t, want the object at a new revision", object, ok)
	}
}
