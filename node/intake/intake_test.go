package intake

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/surplus"
)

func TestApply(t *testing.T) {
	cases := []struct {
		name string
		do   func(*bench) string
		says string
		slot string
	}{
		{"a new pod is created", func(b *bench) string { return b.apply(pod("web", "a:1")) },
			"created", "u1 a:1"},
		{"a new pod may bring its uid", func(b *bench) string { return b.apply(pod("web", "a:1", uid("mine"))) },
			"created", "mine a:1"},
		{"the same manifest changes nothing", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:1"))
		}, "unchanged", "u1 a:1"},
		{"what the node has written is no change", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			view, _ := b.in.Store.View(web)
			return b.apply(view.Slot.Pod.Object.DeepCopy())
		}, "unchanged", "u1 a:1"},
		{"another node's name is no change", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:1", func(p *corev1.Pod) { p.Spec.NodeName = "other" }))
		}, "unchanged", "u1 a:1"},
		{"labels are taken by the running pod", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:1", label("x")))
		}, "updated", "u1 a:1 generation 2"},
		{"an image restarts its container only", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.runs(node.ContainerRunning)
			return b.apply(pod("web", "a:2"))
		}, "updated[app]", "u1 a:2 generation 2"},
		{"what has not begun has nothing to restart", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:2"))
		}, "updated", "u1 a:2 generation 2"},
		{"nor has what has ended for good", func(b *bench) string {
			b.apply(pod("web", "a:1", beside))
			b.runs(node.ContainerExited)
			return b.apply(pod("web", "a:2", beside))
		}, "updated", "u1 a:2 generation 2"},
		{"a command replaces the pod, which may end in its own time", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:1", command("x")))
		}, "replaced[app]", "u1 a:1 until 30 (replaced), then u2 a:1"},
		{"another uid replaces the pod", func(b *bench) string {
			b.apply(pod("web", "a:1", uid("x")))
			return b.apply(pod("web", "a:1", uid("y")))
		}, "replaced[app]", "x a:1 until 30 (replaced), then y a:1"},
		{"a pod that waits is replaced by a newer one", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.apply(pod("web", "a:1", command("x")))
			b.wait(time.Second)
			return b.apply(pod("web", "a:1", command("y")))
		}, "replaced", "u1 a:1 until 30 (replaced), then u3 a:1"},
		{"a pod that waits takes what it can", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.apply(pod("web", "a:1", command("x")))
			return b.apply(pod("web", "a:2", command("x")))
		}, "updated", "u1 a:1 until 30 (replaced), then u2 a:2 generation 2"},
		{"a pod that waits is unchanged by itself", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.apply(pod("web", "a:1", command("x")))
			return b.apply(pod("web", "a:1", command("x")))
		}, "unchanged", "u1 a:1 until 30 (replaced), then u2 a:1"},
		{"a pod posted while the old one ends waits for it", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.delete("", -1)
			return b.apply(pod("web", "a:1"))
		}, "created", "u1 a:1 until 30 (deleted), then u2 a:1"},
		{"a finished pod stays finished under the same manifest", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.settle()
			return b.apply(pod("web", "a:1"))
		}, "unchanged", "u1 a:1"},
		{"a finished pod does not run a new image: another pod does", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.settle()
			return b.apply(pod("web", "a:2"))
		}, "replaced[app]", "u1 a:1 until 30 (replaced), then u2 a:2"},
		{"a pod that is made to end does not run a new image: another pod does", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.doom(time.Minute)
			return b.apply(pod("web", "a:2"))
		}, "replaced[app]", "u1 a:1 until 30 (replaced), then u2 a:2"},
		{"nor does that pod come back for who means it by its uid", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			b.doom(time.Minute)
			return b.apply(pod("web", "a:2", uid("u1")))
		}, "updated", "u1 a:2 generation 2"},
		{"unless a file says so", func(b *bench) string {
			b = b.as(node.SourceFile)
			b.apply(pod("web", "a:1", uid("x")))
			b.doom(time.Minute)
			return b.apply(pod("web", "a:2", uid("x")))
		}, "replaced[app]", "x a:1 until 30 (replaced), then x a:2"},
		{"another source's pod is not touched", func(b *bench) string {
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			return b.apply(pod("web", "a:2"))
		}, "conflict", "u1 a:1"},
		{"another source may wait for a pod that ends", func(b *bench) string {
			b.as(node.SourceFile).apply(pod("web", "a:1"))
			b.as(node.SourceFile).delete("", -1)
			return b.apply(pod("web", "a:2"))
		}, "created", "u1 a:1 until 30 (deleted), then u2 a:2"},
		{"two documents of one pod are refused", func(b *bench) string {
			return b.apply(pod("web", "a:1"), pod("web", "a:2"))
		}, "invalid", "free"},
		{"one wrong document refuses the bundle", func(b *bench) string {
			return b.apply(pod("web", "a:1"), pod("db", "a:1", wantsDevice))
		}, "invalid", "free"},
		{"a uid belongs to one pod", func(b *bench) string {
			b.apply(pod("web", "a:1", uid("x")))
			return b.apply(pod("db", "a:1", uid("x")))
		}, "invalid", "x a:1"},
		{"a uid belongs to one pod of a bundle", func(b *bench) string {
			return b.apply(pod("web", "a:1", uid("x")), pod("db", "a:1", uid("x")))
		}, "invalid", "free"},
		{"a full disk takes no pod", func(b *bench) string {
			b.journal.full = true
			return b.apply(pod("web", "a:1"))
		}, "no space left", "free"},
		{"a plan does nothing", func(b *bench) string { return b.plan(pod("web", "a:1")) },
			"would be created", "free"},
		{"a plan tells what would restart", func(b *bench) string {
			b.apply(pod("web", "a:1"))
			return b.plan(pod("web", "a:1", command("x")))
		}, "would be replaced[app]", "u1 a:1"},
		{"a plan finds what is wrong", func(b *bench) string {
			b.as(node.SourceURL).apply(pod("web", "a:1"))
			return b.plan(pod("web", "a:2"))
		}, "would be conflict", "u1 a:1"},
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

func TestApplyReportsViolations(t *testing.T) {
	b := newBench(t)
	_, _, err := b.in.Apply([]Delivery{
		{Pod: pod("web", "a:1")}, {Pod: pod("db", "a:1", wantsDevice), Document: 1}, {Pod: pod("cache", "a:1", wantsDevice), Document: 2},
	}, b.now)
	var invalid *node.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) != 2 {
		t.Fatalf("err = %v, want two violations", err)
	}
	for i, object := range []string{"Pod default/db", "Pod default/cache"} {
		got := invalid.Violations[i]
		if got.Document != i+1 || got.Object != object || got.Field != "spec.resourceClaims" {
			t.Errorf("violation = %+v, want document %d, %s, spec.resourceClaims", got, i+1, object)
		}
	}
}

func TestApplyReportsAllViolationsOfAPod(t *testing.T) {
	_, _, err := newBench(t).in.Apply([]Delivery{{Pod: pod("web", "a:1", debugged("d:1"), inClass(nil))}}, time.Now())
	var invalid *node.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) != 2 ||
		invalid.Violations[0].Field != "spec.ephemeralContainers" || invalid.Violations[1].Field != "spec.runtimeClassName" {
		t.Errorf("got %v, want it to name ephemeral containers and the runtime class", err)
	}
}

// wantsDevice has a pod ask for what this node does not hand out.
func wantsDevice(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }

func TestApplyAnswersInDetail(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "a:1"))
	changed := pod("web", "a:2", label("x"), ofClass("system-cluster-critical"), func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" })
	outcomes, revision, err := b.in.Apply([]Delivery{{Pod: changed}}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes[0]
	want := []string{"metadata.labels[l]", "spec.containers[0].image", "spec.priorityClassName", "spec.schedulerName"}
	if got.Verdict != Replaced || !slices.Equal(got.Changes, want) {
		t.Errorf("outcome = %s %q, want replaced %q", got.Verdict, got.Changes, want)
	}
	if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "spec.schedulerName") {
		t.Errorf("warnings = %q, want one of spec.schedulerName", got.Warnings)
	}
	if got.Revision != revision || revision != b.in.Store.Revision() || got.UID != "u2" || got.Key != web {
		t.Errorf("outcome = %+v at %d, want u2 of default/web at the store's revision", got, revision)
	}
}

func TestAcceptedPodIsComplete(t *testing.T) {
	b := newBench(t)
	given := pod("web", "a:1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	b.apply(given)
	view, _ := b.in.Store.View(web)
	got := view.Slot.Pod.Object
	if got == given {
		t.Error("the store holds the caller's object")
	}
	if got.Spec.NodeName != "n1" || got.Generation != 1 || !got.CreationTimestamp.Time.Equal(b.now) || got.Status.Phase != "" {
		t.Errorf("node, generation, created, phase = %q, %d, %s, %q", got.Spec.NodeName, got.Generation, got.CreationTimestamp, got.Status.Phase)
	}
}

func TestADeliveredSpecReplacesSurplusFields(t *testing.T) {
	recorded := []byte(`{"Aim":1,"Object":{"spec":{"planet":"earth"}}}`)
	over, err := surplus.NewFinder().Of(recorded, reflect.TypeFor[node.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	old := &node.Pod{Object: pod("web", "a:1"), Surplus: over}
	got := updated(old, Delivery{Pod: pod("web", "a:2")}).Surplus.Paths()
	if want := []string{"Aim"}; !slices.Equal(got, want) {
		t.Errorf("of what a newer agent has recorded %q is kept, want %q", got, want)
	}
}
