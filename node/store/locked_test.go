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

var errAway = fmt.Errorf("its key is away: %w", node.ErrUnavailable)

func secretRef(name string) node.ObjectRef {
	return node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: name}
}

func TestALockedObjectIsKnownByNameUntilItOpens(t *testing.T) {
	journal := newMemory()
	before := openStore(t, journal)
	write(t, before, func(tx *Tx) {
		tx.PutObject(node.NewObject(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "login"}, Data: map[string][]byte{"k": []byte("v")},
		}))
	})
	record := Record{Name: SecretRecords + "default_login", Data: journal.records[SecretRecords+"default_login"]}

	s := openStore(t, journal)
	if problems := s.Lock([]Locked{{record.Name, errAway}}); len(problems) > 0 {
		t.Fatal(problems)
	}
	o, ok := s.Object(secretRef("login"))
	if !ok || !errors.Is(o.Readable(), node.ErrUnavailable) || !strings.Contains(o.Readable().Error(), "Secret default/login") || len(o.Data()) > 0 {
		t.Fatalf("got %+v, %t; want its name and the reason", o, ok)
	}
	if _, err := s.Transact(func(tx *Tx) error { tx.PutObject(o.Clone()); return nil }); !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("an object without its data was recorded: %v", err)
	}
	locked, changed := s.Revision(), s.Changed()
	if problems := s.Reopen(func() ([]Record, []Locked) { return []Record{record}, nil }); len(problems) > 0 {
		t.Fatal(problems)
	}
	<-changed
	changes, _, err := s.ObjectsSince(locked)
	if err != nil || len(changes) != 1 || changes[0].Object.Readable() != nil || string(changes[0].Object.Data()["k"]) != "v" {
		t.Errorf("got changes %+v, %v; want the object with its data", changes, err)
	}
}

func TestALockedObjectOfANewerAgentIsLeftAlone(t *testing.T) {
	s := openStore(t, newMemory())
	s.Lock([]Locked{{SecretRecords + "default_later", fmt.Errorf("%w: form 9", ErrNewer)}})
	for what, change := range map[string]func(*Tx){
		"dropped": func(tx *Tx) { tx.DropObject(secretRef("later")) },
		"replaced": func(tx *Tx) {
			tx.PutObject(node.NewObject(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "later"}}))
		},
	} {
		if _, err := s.Transact(func(tx *Tx) error { change(tx); return nil }); !errors.Is(err, node.ErrConflict) || !errors.Is(err, ErrNewer) {
			t.Errorf("%s: got %v, want a conflict", what, err)
		}
	}
}

func TestARecordThatNamesNoObjectIsReported(t *testing.T) {
	s := openStore(t, newMemory())
	if problems := s.Lock([]Locked{{"objects/Secret/nameless", errAway}, {"objects/Moon/a_b", errAway}}); len(problems) != 2 {
		t.Errorf("got %v, want both reported", problems)
	}
}
