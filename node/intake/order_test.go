package intake

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func after(names string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{node.AnnotationAfter: names} }
}

// ruleOf applies a bundle, and returns the rule that it breaks, or "".
func (b *bench) ruleOf(pods ...*corev1.Pod) string {
	b.t.Helper()
	var deliveries []Delivery
	for i, p := range pods {
		deliveries = append(deliveries, Delivery{Pod: p, Document: i})
	}
	_, _, err := b.in.Apply(deliveries, b.now)
	var invalid *node.InvalidError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &invalid):
		b.t.Fatal(err)
	case invalid.Violations[0].Field != "metadata.annotations[nodal.node/after]":
		b.t.Errorf("the field is %s", invalid.Violations[0].Field)
	}
	return invalid.Violations[0].Rule
}

func TestAnOrderThatCannotHoldIsRefused(t *testing.T) {
	const self = "a pod cannot start after itself; take its own name out"
	for _, c := range []struct {
		name   string
		before []*corev1.Pod // that the node has
		pods   []*corev1.Pod
		want   string
	}{
		{"a pod after another one", nil, []*corev1.Pod{pod("db", "d:1"), pod("web", "w:1", after("default/db"))}, ""},
		{"a pod after one that is not there yet", nil, []*corev1.Pod{pod("web", "w:1", after("default/db"))}, ""},
		{"a name that is none", nil, []*corev1.Pod{pod("web", "w:1", after("db"))},
			`"db" names no pod; write namespace/name, with a comma between two pods`},
		{"a pod after itself", nil, []*corev1.Pod{pod("web", "w:1", after("default/db,default/web"))}, self},
		{"two pods of one bundle", nil, []*corev1.Pod{pod("db", "d:1", after("default/web")), pod("web", "w:1", after("default/db"))},
			"these pods would wait for each other: default/db after default/web after default/db; take one of the names out"},
		{"a pod after one of the node that is after it", []*corev1.Pod{pod("db", "d:1", after("default/web"))},
			[]*corev1.Pod{pod("web", "w:1", after("default/db"))},
			"these pods would wait for each other: default/web after default/db after default/web; take one of the names out"},
		{"a longer way round", []*corev1.Pod{pod("a", "i:1", after("default/x,default/b")), pod("b", "i:1", after("default/c"))},
			[]*corev1.Pod{pod("c", "i:1", after("default/a"))},
			"these pods would wait for each other: default/c after default/a after default/b after default/c; take one of the names out"},
		{"two ways to the same pod are no circle", []*corev1.Pod{pod("a", "i:1", after("default/d")), pod("b", "i:1", after("default/d"))},
			[]*corev1.Pod{pod("c", "i:1", after("default/a,default/b")), pod("d", "i:1")}, ""},
		{"a bundle that turns the order round", []*corev1.Pod{pod("db", "d:1", after("default/web")), pod("web", "w:1")},
			[]*corev1.Pod{pod("web", "w:1", after("default/db")), pod("db", "d:1")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if rule := b.ruleOf(c.before...); rule != "" {
				t.Fatalf("what the node has is refused: %s", rule)
			}
			if got := b.ruleOf(c.pods...); got != c.want {
				t.Errorf("\ngot  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestACircleChangesNothing(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "w:1", after("default/db")))
	if got := b.apply(pod("other", "o:1"), pod("db", "d:1", after("default/web"))); got != node.ErrInvalid.Error() {
		t.Fatalf("it is %s", got)
	}
	for _, name := range []string{"db", "other"} {
		if got := b.slot(node.Key{Namespace: "default", Name: name}); got != "free" {
			t.Errorf("%s holds %s", name, got)
		}
	}
}

// TestADeletedPodMakesNoCircle: it goes, so that nothing waits for it as it was.
func TestADeletedPodMakesNoCircle(t *testing.T) {
	b := newBench(t)
	b.apply(pod("web", "w:1", after("default/db")))
	if got := b.delete("", -1); got != "<nil>" {
		t.Fatal(got)
	}
	if rule := b.ruleOf(pod("db", "d:1", after("default/web"))); rule != "" {
		t.Errorf("it is refused: %s", rule)
	}
}

func TestAFileIsRefusedThatClosesACircle(t *testing.T) {
	b := newBench(t).as(node.SourceFile)
	web, db := pod("web", "w:1", after("default/db"), uid("f1")), pod("db", "d:1", after("default/web"), uid("f2"))
	problems := b.in.Sync([]Delivery{{Pod: db, Origin: "db.yaml"}, {Pod: web, Origin: "web.yaml"}}, nil, b.now)
	if len(problems) != 1 || !strings.Contains(problems["web.yaml"].Error(), "would wait for each other") {
		t.Errorf("the problems are %v", problems)
	}
}

func TestAMissingPredecessorIsAWarning(t *testing.T) {
	b := newBench(t)
	outcomes, _, err := b.in.Apply([]Delivery{{Pod: pod("web", "w:1", after("default/db,default/cache"))}, {Pod: pod("cache", "c:1")}}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	const want = "metadata.annotations[nodal.node/after]: the pod waits for default/db, which this node does not have"
	if got := outcomes[0].Warnings; len(got) != 1 || got[0] != want {
		t.Errorf("the warnings are %q", got)
	}
}
