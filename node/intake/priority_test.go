package intake

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// ranking is a PriorityClass.
func ranking(name string, value int32, changes ...func(*schedulingv1.PriorityClass)) Delivery {
	class := &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: new(corev1.PreemptLowerPriority),
	}
	for _, change := range changes {
		change(class)
	}
	return Delivery{Object: node.NewObject(class)}
}

func byDefault(c *schedulingv1.PriorityClass) { c.GlobalDefault = true }
func patient(c *schedulingv1.PriorityClass)   { c.PreemptionPolicy = new(corev1.PreemptNever) }

func ofClass(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

func withPriority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

func withPolicy(policy corev1.PreemptionPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &policy }
}

func ofACluster(p *corev1.Pod) { p.Annotations = map[string]string{node.AnnotationFrom: node.Cluster} }

// posts answers with the verdicts, or with the fields of the violations.
func (b *bench) posts(deliveries ...Delivery) string {
	outcomes, _, err := b.in.Apply(deliveries, b.now)
	if invalid := (*node.InvalidError)(nil); errors.As(err, &invalid) {
		var fields []string
		for _, v := range invalid.Violations {
			fields = append(fields, v.Field)
		}
		return strings.Join(fields, " ")
	}
	return b.tell(outcomes, err)
}

// rankOf shows the class, priority and preemption policy of the pod that holds a name.
func (b *bench) rankOf(name string) string {
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		return "nothing"
	}
	spec := heir(view.Slot).Object.Spec
	if spec.Priority == nil {
		return fmt.Sprintf("%q", spec.PriorityClassName)
	}
	return fmt.Sprintf("%q %d %s", spec.PriorityClassName, *spec.Priority, *spec.PreemptionPolicy)
}

func TestPodTakesThePriorityOfItsClass(t *testing.T) {
	const high = `"high" 1000 Never`
	for _, c := range []struct {
		name    string
		classes []Delivery
		pod     *corev1.Pod
		want    string // the answer
		rank    string
	}{
		{"a posted class", []Delivery{ranking("high", 1000, patient)}, pod("web", "a:1", ofClass("high")), "created", high},
		{"a class of the system", nil, pod("web", "a:1", ofClass("system-node-critical")), "created", `"system-node-critical" 2000001000 PreemptLowerPriority`},
		{"the other one", nil, pod("web", "a:1", ofClass("system-cluster-critical")), "created", `"system-cluster-critical" 2000000000 PreemptLowerPriority`},
		{"the default class", []Delivery{ranking("high", 1000), ranking("low", -5, byDefault)}, pod("web", "a:1"), "created", `"low" -5 PreemptLowerPriority`},
		{"no class and no default", []Delivery{ranking("high", 1000)}, pod("web", "a:1"), "created", `""`},
		{"a class that is not there", []Delivery{ranking("high", 1000)}, pod("web", "a:1", ofClass("low")), "spec.priorityClassName", "nothing"},
		{"the number of the class", []Delivery{ranking("high", 1000, patient)}, pod("web", "a:1", ofClass("high"), withPriority(1000), withPolicy("Never")), "created", high},
		{"another number", []Delivery{ranking("high", 1000)}, pod("web", "a:1", ofClass("high"), withPriority(1001)), "spec.priority", "nothing"},
		{"another policy", []Delivery{ranking("high", 1000)}, pod("web", "a:1", ofClass("high"), withPolicy("Never")), "spec.preemptionPolicy", "nothing"},
		{"another number than the default's", []Delivery{ranking("low", -5, byDefault)}, pod("web", "a:1", withPriority(0)), "spec.priority", "nothing"},
		{"a number without a class", nil, pod("web", "a:1", withPriority(2_000_000_000)), "spec.priority", "nothing"},
		{"what an API server gives pods without a class", nil, pod("web", "a:1", withPriority(0), withPolicy("PreemptLowerPriority")), "created", `"" 0 PreemptLowerPriority`},
		{"a pod of a cluster, which has classes of its own", []Delivery{ranking("high", 1000)}, pod("web", "a:1", ofACluster, ofClass("high"), withPriority(7), withPolicy("Never")), "created", `"high" 7 Never`},
		{"a pod of a cluster whose class is not here", nil, pod("web", "a:1", ofACluster, ofClass("low"), withPriority(7), withPolicy("Never")), "created", `"low" 7 Never`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.posts(c.classes...)
			if got := b.posts(Delivery{Pod: c.pod}); got != c.want {
				t.Errorf("the answer is %s, want %s", got, c.want)
			}
			if got := b.rankOf("web"); got != c.rank {
				t.Errorf("the pod has %s, want %s", got, c.rank)
			}
		})
	}
}

func TestStaticPodKeepsThePriorityOfItsManifest(t *testing.T) {
	for _, source := range []node.Source{node.SourceFile, node.SourceURL} {
		b := newBench(t).as(source)
		if got := b.posts(Delivery{Pod: pod("web", "a:1", ofClass("absent"))}); got != "created" || b.rankOf("web") != `"absent"` {
			t.Errorf("from a %s: got %s and %s, want it as its manifest says", source, got, b.rankOf("web"))
		}
	}
}

func TestPodKeepsThePriorityWithWhichItWasAccepted(t *testing.T) {
	b := newBench(t)
	drop := func(class string) string {
		if err := b.in.DeleteObject(node.ObjectRef{Kind: node.PriorityClass, Name: class}, b.now); err != nil {
			return err.Error()
		}
		return "dropped"
	}
	for _, step := range []struct {
		name, got, want, rank string // each is done while the table is written
	}{
		{"a class behind its pod in the bundle", b.posts(Delivery{Pod: pod("web", "a:1", ofClass("high"))}, ranking("high", 1000)), "created created", b.rankOf("web")},
		{"the pod again", b.posts(Delivery{Pod: pod("web", "a:1", ofClass("high"))}), "unchanged", b.rankOf("web")},
		{"the pod with its number", b.posts(Delivery{Pod: pod("web", "a:1", ofClass("high"), withPriority(1000))}), "unchanged", b.rankOf("web")},
		{"the pod with another number", b.posts(Delivery{Pod: pod("web", "a:1", ofClass("high"), withPriority(1))}), "spec.priority", b.rankOf("web")},
		{"the class goes", drop("high"), "dropped", b.rankOf("web")},
		{"another class of its name", b.posts(ranking("high", 2000)), "created", b.rankOf("web")},
		{"the pod once more", b.posts(Delivery{Pod: pod("web", "a:1", ofClass("high"))}), "unchanged", b.rankOf("web")},
		{"the pod with another image", b.posts(Delivery{Pod: pod("web", "a:2", ofClass("high"))}), "updated", b.rankOf("web")},
	} {
		if step.got != step.want || step.rank != `"high" 1000 PreemptLowerPriority` {
			t.Errorf("%s: got %q, want %q; the pod has %s", step.name, step.got, step.want, step.rank)
		}
	}
	if got := b.posts(Delivery{Pod: pod("web", "a:2")}); got != "replaced[app]" || b.rankOf("web") != `""` {
		t.Errorf("the pod without its class: got %s and %s, want it replaced by one without", got, b.rankOf("web"))
	}
}

func TestPodKeepsTheDefaultPriorityOfItsTime(t *testing.T) {
	b := newBench(t)
	const low = `"low" 5 PreemptLowerPriority`
	for _, step := range []struct{ name, got, want, rank string }{
		{"the default", b.posts(ranking("low", 5, byDefault), Delivery{Pod: pod("web", "a:1")}), "created created", b.rankOf("web")},
		{"the pod again", b.posts(Delivery{Pod: pod("web", "a:1")}), "unchanged", b.rankOf("web")},
		{"another default", b.posts(ranking("low", 5), ranking("high", 1000, byDefault)), "updated created", b.rankOf("web")},
		{"the pod once more", b.posts(Delivery{Pod: pod("web", "a:1")}), "unchanged", b.rankOf("web")},
		{"the pod with another image", b.posts(Delivery{Pod: pod("web", "a:2")}), "updated", b.rankOf("web")},
		{"the pod with its class spelt out", b.posts(Delivery{Pod: pod("web", "a:2", ofClass("low"))}), "unchanged", b.rankOf("web")},
	} {
		if step.got != step.want || step.rank != low {
			t.Errorf("%s: got %q, want %q; the pod has %s, want %s", step.name, step.got, step.want, step.rank, low)
		}
	}
	if got := b.posts(Delivery{Pod: pod("web", "a:2", command("x"))}); got != "replaced[app]" || b.rankOf("web") != `"high" 1000 PreemptLowerPriority` {
		t.Errorf("a new pod in its place: got %s and %s, want it replaced by one of the new default", got, b.rankOf("web"))
	}
}

func TestPriorityClassesChangeAsInKubernetes(t *testing.T) {
	describe := func(c *schedulingv1.PriorityClass) { c.Description = "for what matters" }
	for _, c := range []struct {
		name         string
		first, after Delivery
		want         string
	}{
		{"its value", ranking("high", 1000), ranking("high", 1001), "value"},
		{"its policy", ranking("high", 1000), ranking("high", 1000, patient), "preemptionPolicy"},
		{"its description", ranking("high", 1000), ranking("high", 1000, describe), "updated"},
		{"that it is the default", ranking("high", 1000), ranking("high", 1000, byDefault), "updated"},
		{"a second default", ranking("high", 1000, byDefault), ranking("low", 1, byDefault), "globalDefault"},
		{"the default once more", ranking("high", 1000, byDefault), ranking("high", 1000, byDefault), "unchanged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.posts(c.first)
			if got := b.posts(c.after); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
