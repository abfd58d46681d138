package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestRestore(t *testing.T) {
	journal := newMemory()
	s := openStore(t, journal)
	kept := slotOf("web", "u1")
	kept.Next = podOf("web", "u2")
	kept.Tallies = map[string]node.Tally{"app": {Restarts: 3, Streak: 2}}
	kept.Result = &corev1.PodStatus{Phase: corev1.PodFailed}
	last := put(t, s, map[string]*node.Slot{"web": kept, "gone": slotOf("gone", "u3")})
	put(t, s, map[string]*node.Slot{"gone": nil})

	again := openStore(t, journal)
	if problems := again.Restore(journal.all()); len(problems) > 0 {
		t.Fatalf("problems = %v", problems)
	}
	views, revision := again.Views()
	if len(views) != 1 || revision <= last {
		t.Fatalf("views, revision = %d, %d, want 1, more than %d", len(views), revision, last)
	}
	got, want := asJSON(t, views[0].Slot), asJSON(t, kept)
	if got != want {
		t.Errorf("slot = %s, want %s", got, want)
	}
	if _, _, err := again.Since(last); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("Since a revision of before = %v, want %v", err, node.ErrCompacted)
	}
}

func TestBadRecordCostsItsOwnPodOnly(t *testing.T) {
	good := asJSON(t, slotOf("web", "u1"))
	waiting := slotOf("b", "u1")
	waiting.Next = &node.Pod{}
	cases := []struct{ name, record, data, says string }{
		{"cut off", "pods/default_b", good[:20], "unexpected end"},
		{"empty", "pods/default_b", "", "unexpected end"},
		{"of nothing", "pods/default_b", "{}", "names no pod"},
		{"without a manifest", "pods/default_b", `{"Pod":{}}`, "names no pod"},
		{"with a waiting pod without a manifest", "pods/default_b", asJSON(t, waiting), "no manifest"},
		{"under another pod's name", "pods/default_b", good, "holds pod default/web"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := openStore(t, newMemory())
			problems := s.Restore([]Record{
				{Name: c.record, Data: []byte(c.data)},
				{Name: "other/default_x", Data: []byte("not ours")},
				{Name: "pods/default_web", Data: []byte(good)},
			})
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.record) || !strings.Contains(problems[0].Error(), c.says) {
				t.Errorf("problems = %v, want one of %s that says %q", problems, c.record, c.says)
			}
			if got, want := names(s), "web=u1"; got != want {
				t.Errorf("pods = %s, want %s", got, want)
			}
		})
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
