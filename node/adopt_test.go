package node

import (
	"testing"
	"time"
)

func TestAdopt(t *testing.T) {
	now := time.Unix(1000, 0)
	found := &Observed{
		Sandboxes: []Sandbox{{ID: "s", UID: "u1"}},
		Containers: []Container{
			{Name: "app", Image: "a:1", UID: "u1", Attempt: 1, Grace: 5 * time.Second},
			{Name: "app", Image: "a:0", UID: "u1"},
		},
	}
	t.Run("a stray pod is recorded to end", func(t *testing.T) {
		journal := newMemory()
		journal.fail = ErrNoSpace // it frees what the disk has no room for
		s := openStore(t, journal)
		if err := s.Adopt(key("stray"), found, now); err != nil {
			t.Fatal(err)
		}
		view, _ := s.View(key("stray"))
		pod := view.Slot.Pod
		if pod.Source != SourceRuntime || pod.UID() != "u1" || len(pod.Object.Spec.Containers) != 1 {
			t.Errorf("pod = %+v, want u1 with one container", pod)
		}
		if got, want := pod.Deletion.Deadline(), now.Add(5*time.Second); !got.Equal(want) {
			t.Errorf("deadline = %s, want %s", got, want)
		}
	})
	t.Run("a name that is held is left alone", func(t *testing.T) {
		s := openStore(t, newMemory())
		put(t, s, map[string]*Slot{"web": slotOf("web", "u9")})
		if err := s.Adopt(key("web"), found, now); err != nil {
			t.Fatal(err)
		}
		if got, want := names(s), "web=u9"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
	})
}
