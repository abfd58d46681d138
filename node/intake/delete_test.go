package intake

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestDelete(t *testing.T) {
	const own = time.Duration(-1)
	replaced := func(b *bench) {
		b.apply(pod("web", "a:1"))
		b.apply(pod("web", "a:1", command("x")))
	}
	cases := []struct {
		name string
		do   func(*bench) string
		says string
		slot string
	}{
		{"a pod ends within its own grace period", func(b *bench) string {
			b.apply(pod("web", "a:1", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(7)) }))
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 7 (deleted)"},
		{"a pod ends within the grace period that is asked for", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.delete("", 90*time.Second)
		}, "<nil>", "u1 a:1 until 90 (deleted)"},
		{"a second deletion brings the end forward", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.delete("", own)
			b.wait(5 * time.Second)
			return b.delete("", time.Second)
		}, "<nil>", "u1 a:1 until 6 (deleted)"},
		{"a second deletion does not put the end off", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.delete("", own)
			b.wait(5 * time.Second)
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 30 (deleted)"},
		{"a deletion does not put off the end of a pod that the node ends", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.doom(10 * time.Second)
			b.wait(5 * time.Second)
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 10 (deleted)"},
		{"a replacement does not put it off either", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.doom(10 * time.Second)
			b.wait(5 * time.Second)
			b.apply(pod("web", "a:2"))
			return "<nil>"
		}, "<nil>", "u1 a:1 until 10 (replaced), then u2 a:2"},
		{"a deletion drops the pod that waits", func(b *bench) string {
			replaced(b)
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 30 (replaced)"},
		{"a deletion of the pod that ends leaves the one that waits", func(b *bench) string {
			replaced(b)
			return b.delete("u1", 10*time.Second)
		}, "<nil>", "u1 a:1 until 10 (replaced), then u2 a:1"},
		{"a deletion of the pod that waits leaves the one that ends", func(b *bench) string {
			replaced(b)
			return b.delete("u2", 0)
		}, "<nil>", "u1 a:1 until 30 (replaced)"},
		{"a pod of another uid is left alone", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.delete("u9", own)
		}, "conflict", "u1 a:1"},
		{"another source's pod is left alone", func(b *bench) string {
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			return b.delete("", own)
		}, "conflict", "u1 a:1"},
		{"a pod of another source that there is is left alone", func(b *bench) string {
			b.in.Sources = map[node.Source]string{node.SourceAPI: "", node.SourceFile: "/manifests"}
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			return b.delete("", own)
		}, "conflict", "u1 a:1"},
		{"a pod whose source is read no more can be deleted", func(b *bench) string {
			b.in.Sources = map[node.Source]string{node.SourceAPI: ""}
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 30 (deleted)"},
		{"another source's pod that ends may be hurried", func(b *bench) string {
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			b.as(node.SourceFile).delete("", own)
			return b.delete("", 0)
		}, "<nil>", "u1 a:1 until 0 (deleted)"},
		{"a full disk does not keep a pod from ending", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.journal.full = true
			return b.delete("", own)
		}, "<nil>", "u1 a:1 until 30 (deleted)"},
		{"a pod that is not there is not found", func(b *bench) string { return b.delete("", own) },
			"not found", "free"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if got := c.do(b); got != c.says {
				t.Errorf("said %q, want %q", got, c.says)
			}
			if got := b.slot(web); got != c.slot {
				t.Errorf("slot = %q, want %q", got, c.slot)
			}
		})
	}
}

func TestRepeatedDeletionIsNoChange(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "a:1"))
	b.delete("", -1)
	before := b.in.Store.Revision()
	b.delete("", time.Hour)
	if got := b.in.Store.Revision(); got != before {
		t.Errorf("revision = %d, want %d", got, before)
	}
}

func TestDeleteAll(t *testing.T) {
	db := node.Key{Namespace: "default", Name: "db"}
	missing := node.Key{Namespace: "default", Name: "missing"}
	t.Run("passes by what is not there", func(t *testing.T) {
		b := newBench(t)
		b.apply(pod("web", "a:1"), pod("db", "b:1"))
		outcomes, _, err := b.in.DeleteAll([]node.Key{web, missing, db}, nil, nil, nil, b.now)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := b.tell(outcomes, nil), "deleted deleted"; got != want {
			t.Errorf("outcomes = %q, want %q", got, want)
		}
		if got, want := b.slot(db), "u2 b:1 until 30 (deleted)"; got != want {
			t.Errorf("slot = %q, want %q", got, want)
		}
	})
	t.Run("deletes nothing when one pod is another's", func(t *testing.T) {
		b := newBench(t)
		b.apply(pod("web", "a:1"))
		b.as(node.SourceFile).apply(pod("db", "b:1"))
		if _, _, err := b.in.DeleteAll([]node.Key{web, db}, nil, nil, nil, b.now); kind(err) != "conflict" {
			t.Errorf("err = %v, want a conflict", err)
		}
		if got, want := b.slot(web), "u1 a:1"; got != want {
			t.Errorf("slot = %q, want %q", got, want)
		}
	})
}
