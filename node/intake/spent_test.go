package intake

import (
	"testing"

	"nodal/node"
)

// TestAPodWhoseSidecarsEndYet checks that a pod which has done its work does not run again for
// any change, and that a new version of it runs once it is gone.
func TestAPodWhoseSidecarsEndYet(t *testing.T) {
	const successor = "u1 a:1 until 30 (replaced), then u2 "
	for _, c := range []struct {
		name string
		do   func(*bench) string
		says string
		slot string
	}{
		{"does not run a new image: another pod does", func(b *bench) string { return b.apply(pod("web", "a:2", served)) },
			"replaced[proxy app]", successor + "a:2"},
		{"as the plan says", func(b *bench) string { return b.plan(pod("web", "a:2", served)) },
			"would be replaced[proxy app]", "u1 a:1"},
		{"which runs but once for all who deliver it", func(b *bench) string {
			b.apply(pod("web", "a:2", served))
			return b.apply(pod("web", "a:2", served))
		}, "unchanged", successor + "a:2"},
		{"does not run with other resources: another pod does", func(b *bench) string { return b.apply(pod("web", "a:1", served, asks("2"))) },
			"replaced[proxy app]", successor + "a:1"},
		{"does not run another command: another pod does", func(b *bench) string { return b.apply(pod("web", "a:1", served, command("x"))) },
			"replaced[proxy app]", successor + "a:1"},
		{"stays over under the same manifest", func(b *bench) string { return b.apply(pod("web", "a:1", served)) },
			"unchanged", "u1 a:1"},
		{"stays over when it is called otherwise", func(b *bench) string { return b.apply(pod("web", "a:1", served, label("x"))) },
			"updated", "u1 a:1 generation 2"},
		{"stays over for who means that very pod", func(b *bench) string { return b.apply(pod("web", "a:2", served, uid("u1"))) },
			"updated", "u1 a:2 generation 2"},
		{"goes on if a restart was asked for", func(b *bench) string {
			if err := b.in.Restart(RestartRequest{Key: web, Container: "app"}); err != nil {
				b.t.Fatal(err)
			}
			return b.apply(pod("web", "a:2", served))
		}, "updated[app]", "u1 a:2 generation 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.apply(pod("web", "a:1", served))
			b.winds()
			if got := c.do(b); got != c.says {
				t.Errorf("said %q, want %q", got, c.says)
			}
			if got := b.slot(web); got != c.slot {
				t.Errorf("slot = %q, want %q", got, c.slot)
			}
		})
	}
}

// TestAFileOfAPodWhoseSidecarsEndYet is read again now and then.
func TestAFileOfAPodWhoseSidecarsEndYet(t *testing.T) {
	b := newBench(t).as(node.SourceFile)
	sync := func(image string) {
		b.t.Helper()
		d := Delivery{Pod: pod("web", image, served), Origin: "/static/web.yaml"}
		if problems := b.in.Sync([]Delivery{d}, nil, b.now); len(problems) > 0 {
			b.t.Fatal(problems)
		}
	}
	sync("a:1")
	b.winds()
	sync("a:1")
	if got, want := b.slot(web), "u1 a:1"; got != want {
		t.Errorf("the same again: slot = %q, want %q", got, want)
	}
	for range 2 {
		sync("a:2")
		if got, want := b.slot(web), "u1 a:1 until 30 (replaced), then u2 a:2"; got != want {
			t.Errorf("a new version: slot = %q, want %q", got, want)
		}
	}
}
