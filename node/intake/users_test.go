package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/users"
)

func apart(p *corev1.Pod) { p.Spec.HostUsers = new(false) }

// usersOf are the first of the host's users that pods have for themselves, the pod
// that owns the name before the one that waits for it.
func (b *bench) usersOf(name string) []uint32 {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		b.t.Fatalf("no pod %s", name)
	}
	var first []uint32
	for _, pod := range []*node.Pod{view.Slot.Pod, view.Slot.Next} {
		if pod != nil && pod.Users != nil {
			first = append(first, pod.Users.First/users.Unit)
		}
	}
	return first
}

func TestPodsHaveUsersOfTheirOwn(t *testing.T) {
	b := newBench(t)
	b.offer.Users = users.Pool{Range: users.Range{First: users.Unit, Count: 4 * users.Unit}, Each: users.Unit}
	check := func(when, name string, want ...uint32) {
		t.Helper()
		got := b.usersOf(name)
		if len(got) != len(want) {
			t.Fatalf("%s: %s has the users %v, want %v", when, name, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %s has the users %v, want %v", when, name, got, want)
			}
		}
	}
	b.apply(pod("web", "a:1", apart), pod("db", "a:1", apart), pod("plain", "a:1"))
	check("in one bundle", "web", 1)
	check("in one bundle", "db", 2)
	check("with the host's users", "plain")

	b.apply(pod("web", "a:2", apart))
	check("with another image", "web", 1)
	b.apply(pod("web", "a:2", apart, command("sh")))
	check("replaced, until the old one is gone", "web", 1, 3)
	b.apply(pod("web", "a:2", apart, command("bash")))
	check("replaced again before that", "web", 1, 4)

	b.apply(pod("late", "a:1", apart))
	check("now the third is free", "late", 3)
	b.apply(pod("more", "a:1", apart))
	check("and none any more", "more")
	view, _ := b.in.Store.View(node.Key{Namespace: "default", Name: "more"})
	if r := view.Slot.Pod.Refused; r == nil || r.Reason != "OutOfUserNamespaces" {
		t.Errorf("the pod for which there are none is refused with %+v", r)
	}
}
