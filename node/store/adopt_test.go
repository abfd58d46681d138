package store

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestAdopt(t *testing.T) {
	now, hook := time.Unix(1000, 0), &corev1.LifecycleHandler{}
	found := &node.Observed{
		Sandboxes: []node.Sandbox{{ID: "s", UID: "u1"}},
		Containers: []node.Container{
			{Name: "app", Image: "a:1", UID: "u1", Attempt: 1, Grace: 5 * time.Second, Hooked: &corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: hook}}},
			{Name: "app", Image: "a:0", UID: "u1"},
		},
	}
	t.Run("a stray pod is recorded to end", func(t *testing.T) {
		journal := newMemory()
		journal.fail = node.ErrNoSpace // it frees what the disk has no room for
		s := openStore(t, journal)
		if err := s.Adopt(key("stray"), found, now); err != nil {
			t.Fatal(err)
		}
		view, _ := s.View(key("stray"))
		pod := view.Slot.Pod
		if pod.Source != node.SourceRuntime || pod.UID() != "u1" || len(pod.Object.Spec.Containers) != 1 {
			t.Errorf("pod = %+v, want u1 with one container", pod)
		}
		if got := node.HookOf(&pod.Object.Spec.Containers[0], node.PreStop); got != hook {
			t.Errorf("preStop hook = %v, want that of the newest run", got)
		}
		if got, want := pod.Deletion.Deadline(), now.Add(5*time.Second); !got.Equal(want) {
			t.Errorf("deadline = %s, want %s", got, want)
		}
	})
	t.Run("a name that is held is left alone", func(t *testing.T) {
		s := openStore(t, newMemory())
		put(t, s, map[string]*node.Slot{"web": slotOf("web", "u9")})
		if err := s.Adopt(key("web"), found, now); err != nil {
			t.Fatal(err)
		}
		if got, want := names(s), "web=u9"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
	})
}
