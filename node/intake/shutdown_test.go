package intake

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/store"
)

// end ends the pod web for a shutdown.
func (b *bench) end(returns bool) {
	b.t.Helper()
	view, _ := b.in.Store.View(web)
	err := b.in.Store.Update(web, view.Slot.Pod.UID(), func(tx *store.Tx, slot *node.Slot) {
		slot.Termination = &node.Termination{Requested: b.now, Reason: node.Terminated, Returns: returns, Halted: returns}
		tx.Put(web, slot)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestAfterAShutdownPodsRunAgain(t *testing.T) {
	fromCluster := func(p *corev1.Pod) { p.Annotations = map[string]string{node.AnnotationFrom: node.Cluster} }
	for _, test := range []struct {
		name    string
		prepare func(b *bench, down *bool)
		want    string
	}{
		{"one that was halted", func(b *bench, _ *bool) { b.apply(pod("web", "a:1")); b.end(true) }, "runs"},
		{"but not one that has ended for good", func(b *bench, _ *bool) { b.apply(pod("web", "a:1")); b.end(false) }, "ends"},
		{"one that was kept out", func(b *bench, down *bool) { *down = true; b.apply(pod("web", "a:1")) }, "runs"},
		{"but not one of a cluster", func(b *bench, down *bool) { *down = true; b.apply(pod("web", "a:1", fromCluster)) }, "refused: NodeShutdown"},
		{"one that was kept out as the successor of another", func(b *bench, down *bool) {
			b.apply(pod("web", "a:1"))
			*down = true
			b.apply(pod("web", "a:1", command("sleep")))
		}, "ends, then runs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, down := newBench(t), false
			b.in.Present = func() admit.Present { return admit.Present{Down: down} }
			test.prepare(b, &down)
			down = false
			if err := b.in.Resume(b.now.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			view, _ := b.in.Store.View(web)
			if got := fate(view.Slot); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// fate says in a word what becomes of a pod.
func fate(slot *node.Slot) string {
	switch {
	case slot.Next != nil && slot.Next.Refused != nil:
		return "ends, then refused"
	case slot.Next != nil:
		return "ends, then runs"
	case slot.Pod.Refused != nil:
		return "refused: " + slot.Pod.Refused.Reason
	case slot.Termination != nil:
		return "ends"
	}
	return "runs"
}
