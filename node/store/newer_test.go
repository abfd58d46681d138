package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// later is a record as a later agent of the same version may write it.
const later = `{"Version":1,"Mood":"calm","Tallies":{"app":{"Restarts":3,"Streak":1,"Spent":"2s"}},
	"Pod":{"Source":"api","Aim":{"x":[1,2]},"Object":{"metadata":{"namespace":"default","name":"web","uid":"u1"},
		"spec":{"containers":[{"name":"app","gear":4},{"name":"side"}],"planet":"earth"}}}}`

func restored(t *testing.T, records ...Record) (*Store, *memory, []error) {
	t.Helper()
	journal := newMemory()
	for _, r := range records {
		journal.records[r.Name] = r.Data
	}
	s := openStore(t, journal)
	return s, journal, s.Restore(records)
}

func TestFieldsOfANewerAgentAreKept(t *testing.T) {
	s, journal, problems := restored(t, Record{Name: "pods/default_web", Data: []byte(later)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	told := strings.Join(s.Surplus(), "\n")
	for _, path := range []string{"Mood", "Pod.Aim", "Pod.Object.spec.planet", "Pod.Object.spec.containers.0.gear", "Tallies.app.Spent"} {
		if !strings.Contains(told, path) {
			t.Errorf("told %s, want %s in it", told, path)
		}
	}
	view, _ := s.View(key("web"))
	slot := *view.Slot
	slot.Tallies = map[string]node.Tally{"app": {Restarts: 4, Streak: 2}}
	pod := *slot.Pod
	pod.Deletion = &node.Deletion{Requested: time.Unix(1, 0).UTC()}
	slot.Pod = &pod
	put(t, s, map[string]*node.Slot{"web": &slot})

	after := string(journal.records["pods/default_web"])
	for _, kept := range []string{`"Mood":"calm"`, `"Aim":{"x":[1,2]}`, `"planet":"earth"`, `"gear":4`, `"Spent":"2s"`, `"Restarts":4`} {
		if !strings.Contains(after, kept) {
			t.Errorf("recorded %s, want %s in it", after, kept)
		}
	}
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u2")})
	if after := string(journal.records["pods/default_web"]); strings.Contains(after, "planet") || strings.Contains(after, "Mood") {
		t.Errorf("another pod has what was said of the one before: %s", after)
	}
}

func TestFieldsOfANewerAgentMoveWithAWaitingPod(t *testing.T) {
	waits := strings.Replace(later, `"Pod":`, `"Pod":{"Object":{"metadata":{"namespace":"default","name":"web","uid":"u0"}}},"Next":`, 1)
	s, journal, _ := restored(t, Record{Name: "pods/default_web", Data: []byte(waits)})
	view, _ := s.View(key("web"))
	put(t, s, map[string]*node.Slot{"web": node.NewSlot(view.Slot.Next)})
	after := string(journal.records["pods/default_web"])
	if !strings.Contains(after, "planet") || strings.Contains(after, "Mood") {
		t.Errorf("recorded %s, want what was said of the pod and not what was said of the slot", after)
	}
}

func TestObjectFieldsOfANewerAgentAreKept(t *testing.T) {
	const secret = `{"Secret":{"metadata":{"namespace":"default","name":"word"},"shape":"round"}}`
	s, journal, _ := restored(t, Record{Name: "objects/Secret/default_word", Data: []byte(secret)})
	object, _ := s.Object(node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "word"})
	if _, err := s.Transact(func(tx *Tx) error {
		tx.PutObject(object.Clone())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if after := string(journal.records["objects/Secret/default_word"]); !strings.Contains(after, `"shape":"round"`) {
		t.Errorf("recorded %s, want the shape in it", after)
	}
}

func TestARecordOfANewerVersionIsShownAndLeftAlone(t *testing.T) {
	newer := Record{Name: "pods/default_web", Data: []byte(strings.Replace(later, `"Version":1`, `"Version":2`, 1))}
	s, journal, problems := restored(t, newer)
	if len(problems) != 1 || !errors.Is(problems[0], ErrNewer) || !strings.Contains(problems[0].Error(), newer.Name) {
		t.Errorf("problems %v, want one of a newer agent that names the record", problems)
	}
	view, ok := s.View(key("web"))
	if !ok || !view.Slot.Newer || !s.Holds("u1") {
		t.Fatalf("got %+v, %t; want the slot, marked as a newer agent's", view, ok)
	}
	for name, slot := range map[string]*node.Slot{"change": view.Slot, "replace": slotOf("web", "u2"), "forget": nil} {
		if _, err := s.Transact(func(tx *Tx) error { tx.Put(key("web"), slot); return nil }); !errors.Is(err, node.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
	put(t, s, map[string]*node.Slot{"other": slotOf("other", "u3")})
	if got := string(journal.records[newer.Name]); got != string(newer.Data) {
		t.Errorf("the record is %s now", got)
	}
}

func TestANewerRecordThatDoesNotDecodeIsLeftAlone(t *testing.T) {
	record := Record{Name: "pods/default_web", Data: []byte(`{"Version":7,"Pod":"elsewhere"}`)}
	s, journal, problems := restored(t, record)
	if len(problems) != 1 || !errors.Is(problems[0], ErrNewer) {
		t.Errorf("problems %v, want one of a newer agent", problems)
	}
	found := &node.Observed{Sandboxes: []node.Sandbox{{UID: "u1"}}}
	if err := s.Adopt(key("web"), found, time.Unix(1, 0)); !errors.Is(err, node.ErrConflict) {
		t.Errorf("the pod that runs was adopted for its teardown: %v", err)
	}
	if got := string(journal.records[record.Name]); got != string(record.Data) {
		t.Errorf("the record is %s now", got)
	}
}

func TestANewerObjectIsLeftAlone(t *testing.T) {
	ref := node.ObjectRef{Kind: node.PersistentVolume, Name: "disk"}
	record := Record{
		Name: "objects/PersistentVolume/_disk",
		Data: fmt.Appendf(nil, `{"Version":%d,"Volume":{"metadata":{"name":"disk"}}}`, Version+1),
	}
	s, _, _ := restored(t, record)
	if _, ok := s.Object(ref); !ok {
		t.Error("the volume is not shown")
	}
	_, err := s.Transact(func(tx *Tx) error {
		if !tx.Withheld(ref) {
			t.Error("a transaction does not know that the volume is left alone")
		}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
		tx.PutObject(node.NewObject(volume))
		return nil
	})
	if !errors.Is(err, node.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}
