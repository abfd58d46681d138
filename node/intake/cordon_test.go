package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/policy"
)

func TestACordonedNodeTakesNoNewPods(t *testing.T) {
	tolerant := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
	}
	b, cordon := newBench(t), node.Cordon{}
	b.in.Cordon = func() node.Cordon { return cordon }
	b.expect(b.apply(pod("web", "a:1")), "created")
	cordon = node.Cordon{Since: b.now, Reason: "a new disk"}
	b.expect(b.apply(pod("db", "a:1")), "conflict")
	b.expect(b.plan(pod("db", "a:1")), "would be conflict")
	b.expect(b.apply(pod("web", "a:1"), pod("db", "a:1")), "conflict")
	b.expect(b.apply(pod("web", "a:1")), "unchanged")
	b.expect(b.apply(pod("web", "a:2")), "updated")
	b.expect(b.apply(pod("web", "a:2", command("sleep"))), "replaced[app]")
	b.expect(b.apply(pod("agent", "a:1", tolerant)), "created")

	from := b.in
	from.Source = node.SourceFile
	if _, _, err := from.Apply([]Delivery{{Pod: pod("static", "a:1")}}, b.now); err != nil {
		t.Errorf("a pod of a file is refused: %v", err)
	}
	if _, _, err := b.in.Apply([]Delivery{{Pod: pod("bound", "a:1"), By: policy.Cluster}}, b.now); err != nil {
		t.Errorf("a pod of a cluster is refused: %v", err)
	}
	cordon = node.Cordon{}
	b.expect(b.apply(pod("db", "a:1")), "created")
}

func (b *bench) expect(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("got %q, want %q", got, want)
	}
}
