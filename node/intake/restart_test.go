package intake

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestRestart(t *testing.T) {
	two := func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "s:1"})
	}
	running := &node.Observed{Containers: []node.Container{
		{UID: "u1", Name: "app", Attempt: 3}, {UID: "u1", Name: "side", Attempt: 1},
		{UID: "u1", Name: "app", Attempt: 2}, {UID: "old", Name: "side", Attempt: 9},
	}}
	cases := []struct {
		name    string
		prepare func(*bench)
		asked   RestartRequest
		says    string
		want    []node.Restart
	}{
		{"one container's present run", func(b *bench) { b.in.Store.Observe(web, running) }, RestartRequest{Container: "app"},
			"<nil>", []node.Restart{{Container: "app", Attempt: 3}}},
		{"every container's present run", func(b *bench) { b.in.Store.Observe(web, running) }, RestartRequest{},
			"<nil>", []node.Restart{{Container: "app", Attempt: 3}, {Container: "side", Attempt: 1}}},
		{"what was asked before stays asked", func(b *bench) {
			b.in.Store.Observe(web, running)
			if err := b.in.Restart(RestartRequest{Key: web, Container: "side"}); err != nil {
				b.t.Fatal(err)
			}
		}, RestartRequest{Container: "app"}, "<nil>", []node.Restart{{Container: "app", Attempt: 3}, {Container: "side", Attempt: 1}}},
		{"what has not run has nothing to restart", func(*bench) {}, RestartRequest{Container: "app"}, "<nil>", nil},
		{"an unknown container is not found", func(*bench) {}, RestartRequest{Container: "nobody"}, "not found", nil},
		{"the pod of the uid that is asked for", func(b *bench) { b.in.Store.Observe(web, running) }, RestartRequest{UID: "u1", Container: "app"},
			"<nil>", []node.Restart{{Container: "app", Attempt: 3}}},
		{"a pod of another uid is left alone", func(b *bench) { b.in.Store.Observe(web, running) }, RestartRequest{UID: "u9"}, "conflict", nil},
		{"a pod that ends is not restarted", func(b *bench) { b.delete("", -1) }, RestartRequest{}, "conflict", nil},
		{"a pod that has finished is not restarted", func(b *bench) { b.settle() }, RestartRequest{}, "conflict", nil},
		{"a pod that is made to end is not restarted", func(b *bench) { b.doom(time.Minute) }, RestartRequest{}, "conflict", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.apply(pod("web", "a:1", two))
			c.prepare(b)
			c.asked.Key = web
			if got := kind(b.in.Restart(c.asked)); got != c.says {
				t.Errorf("said %q, want %q", got, c.says)
			}
			view, _ := b.in.Store.View(web)
			if got := view.Slot.Pod.Restarts; !slices.Equal(got, c.want) {
				t.Errorf("restarts = %v, want %v", got, c.want)
			}
		})
	}
	t.Run("a pod that is not there is not found", func(t *testing.T) {
		b := newBench(t)
		if got, want := kind(b.in.Restart(RestartRequest{Key: web})), "not found"; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	})
}
