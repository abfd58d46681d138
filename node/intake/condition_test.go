package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestSetCondition(t *testing.T) {
	const gate = "example.com/warm"
	// say sets conditions at one second after the other.
	type said struct{ kind, status, reason string }
	for _, c := range []struct {
		name    string
		prepare func(*bench)
		said    []said
		says    string
		want    string
	}{
		{"a new one", nil, []said{{gate, "True", "Warm"}}, "<nil>", "example.com/warm=True Warm +1s"},
		{"another beside it", nil, []said{{gate, "True", ""}, {"plain", "False", ""}}, "<nil>", "example.com/warm=True  +1s, plain=False  +2s"},
		{"a status that changes is a transition", nil, []said{{gate, "False", ""}, {gate, "True", ""}}, "<nil>", "example.com/warm=True  +2s"},
		{"a reason that changes is none", nil, []said{{gate, "False", "Cold"}, {gate, "False", "Cooler"}}, "<nil>", "example.com/warm=False Cooler +1s"},
		{"one that the node says itself", nil, []said{{"Ready", "True", ""}}, "invalid", ""},
		{"one without a name", nil, []said{{"", "True", ""}}, "invalid", ""},
		{"neither true nor false", nil, []said{{gate, "yes", ""}}, "invalid", ""},
		{"too long a reason", nil, []said{{gate, "True", strings.Repeat("x", 257)}}, "invalid", ""},
		{"of a pod that has finished", (*bench).settle, []said{{gate, "True", ""}}, "conflict", ""},
		{"an update of the pod keeps it", func(b *bench) {
			if err := b.in.SetCondition(web, corev1.PodCondition{Type: gate, Status: "True"}, b.now); err != nil {
				b.t.Fatal(err)
			}
			b.apply(pod("web", "a:2"))
		}, nil, "<nil>", "example.com/warm=True  +0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.apply(pod("web", "a:1"))
			if c.prepare != nil {
				c.prepare(b)
			}
			var err error
			for i, s := range c.said {
				condition := corev1.PodCondition{Type: corev1.PodConditionType(s.kind), Status: corev1.ConditionStatus(s.status), Reason: s.reason}
				err = b.in.SetCondition(web, condition, b.now.Add(time.Duration(i+1)*time.Second))
			}
			if got := kind(err); got != c.says {
				t.Errorf("said %q, want %q", got, c.says)
			}
			view, _ := b.in.Store.View(web)
			var lines []string
			for _, got := range view.Slot.Pod.Conditions {
				lines = append(lines, fmt.Sprintf("%s=%s %s +%s", got.Type, got.Status, got.Reason, got.LastTransitionTime.Sub(b.now)))
			}
			if got := strings.Join(lines, ", "); got != c.want {
				t.Errorf("the conditions are %q, want %q", got, c.want)
			}
		})
	}
}

func TestConditionsOfOnePodAreBounded(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "a:1"))
	for i := range maxConditions {
		if err := b.in.SetCondition(web, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("c", i)), Status: "True"}, b.now); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := kind(b.in.SetCondition(web, corev1.PodCondition{Type: "more", Status: "True"}, b.now)), "conflict"; got != want {
		t.Errorf("one more said %q, want %q", got, want)
	}
}

func TestSettingAConditionAgainIsNoChange(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "a:1"))
	said := corev1.PodCondition{Type: "c", Status: "True"}
	var revisions [2]int64
	for i := range revisions {
		if err := b.in.SetCondition(web, said, b.now.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		view, _ := b.in.Store.View(web)
		revisions[i] = view.Revision
	}
	if revisions[0] != revisions[1] {
		t.Errorf("the revision went from %d to %d", revisions[0], revisions[1])
	}
}
