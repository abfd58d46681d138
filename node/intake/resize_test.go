package intake

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/store"
)

// resized returns why the resize of a pod waits, or "now".
func (b *bench) resized(name string) string {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	switch {
	case !ok:
		return "gone"
	case view.Slot.Pod.Resize != nil:
		held := view.Slot.Pod.Allocated().Spec.Containers[0].Resources.Requests.Cpu()
		return view.Slot.Pod.Resize.Reason + " at " + held.String()
	case view.Slot.Pod.Resized.IsZero():
		return "never"
	}
	return "now"
}

func (b *bench) post(p *corev1.Pod) Outcome {
	b.t.Helper()
	outcomes, _, err := b.in.Apply([]Delivery{{Pod: p}}, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	return outcomes[0]
}

func TestResize(t *testing.T) {
	b := small(t)
	for _, step := range []struct {
		name    string
		cpu     string // of web
		verdict Verdict
		want    string
		warns   string
	}{
		{"it is created", "100m", Created, "never", ""},
		{"it grows", "300m", Updated, "now", ""},
		{"not beyond what another leaves", "700m", Updated, "Deferred at 300m", "the pod keeps the resources that it has, Deferred: Node didn't have enough resource: cpu, requested: 700, used: 600, capacity: 1000"},
		{"nor beyond the node", "1100m", Updated, "Infeasible at 300m", "Infeasible: Node didn't have enough capacity: cpu, requested: 1100, capacity: 1000"},
		{"the same again changes nothing", "1100m", Unchanged, "Infeasible at 300m", ""},
		{"it may have what it has", "300m", Updated, "now", ""},
		{"it waits once more", "600m", Updated, "Deferred at 300m", "Deferred"},
	} {
		outcome := b.post(pod("web", "a:1", asks(step.cpu)))
		if got := b.resized("web"); outcome.Verdict != step.verdict || got != step.want {
			t.Errorf("%s: got %s, %s; want %s, %s", step.name, outcome.Verdict, got, step.verdict, step.want)
		}
		if got := strings.Join(outcome.Warnings, ""); !strings.Contains(got, step.warns) || step.warns == "" && got != "" {
			t.Errorf("%s: got warning %q, want %q", step.name, got, step.warns)
		}
		if step.verdict == Created {
			b.post(pod("rival", "a:1", asks("600m")))
		}
	}
	// What waits is not counted, and gets it when the other asks for less, or goes.
	b.post(pod("rival", "a:1", asks("400m")))
	if got := b.resized("web"); got != "now" {
		t.Errorf("after the rival has less: got %s, want now", got)
	}
	b.post(pod("web", "a:1", asks("700m")))
	_, err := b.in.Store.Transact(func(tx *store.Tx) error {
		tx.Put(node.Key{Namespace: "default", Name: "rival"}, nil)
		b.in.Readmit(tx, b.now)
		return nil
	})
	if got := b.resized("web"); err != nil || got != "now" {
		t.Errorf("after the rival has gone: got %s (%v), want now", got, err)
	}
}

func TestResizeOfAPodAsAWhole(t *testing.T) {
	b := small(t)
	whole := func(cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
	}
	b.post(pod("web", "a:1", whole("300m")))
	for _, step := range []struct{ cpu, resized, has string }{
		{"500m", "now", "500m"},
		{"1100m", corev1.PodReasonInfeasible, "500m"},
		{"400m", "now", "400m"},
	} {
		b.post(pod("web", "a:1", whole(step.cpu)))
		view, _ := b.in.Store.View(web)
		if got := view.Slot.Pod.Allocated().Spec.Resources.Requests.Cpu().String(); got != step.has || !strings.HasPrefix(b.resized("web"), step.resized) {
			t.Errorf("asked for %s it has %s, %s; want %s, %s", step.cpu, got, b.resized("web"), step.has, step.resized)
		}
	}
}

func TestResizeRestartsContainersWhosePolicyAsksForIt(t *testing.T) {
	b := small(t)
	eager := func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
	b.post(pod("web", "a:1", asks("100m"), eager))
	b.runs(node.ContainerRunning)
	changed := pod("web", "a:1", asks("200m"), eager)
	planned, err := b.in.Plan([]Delivery{{Pod: changed}}, b.now)
	if err != nil {
		t.Fatal(err)
	}
	done := b.post(changed)
	if !slices.Equal(planned[0].Restarts, []string{"app"}) || !slices.Equal(done.Restarts, planned[0].Restarts) {
		t.Errorf("planned %q, then %q; want app to restart", planned[0].Restarts, done.Restarts)
	}
	view, _ := b.in.Store.View(web)
	if got, want := view.Slot.Pod.Restarts, []node.Restart{{Container: "app", Attempt: 3}}; !slices.Equal(got, want) {
		t.Errorf("restarts asked for: %v, want %v", got, want)
	}
	if done := b.post(pod("web", "a:1", asks("2"), eager)); len(done.Restarts) > 0 {
		t.Errorf("%q restart for what they do not get", done.Restarts)
	}
}

func TestResizeRestartsOnlyRunningContainers(t *testing.T) {
	var policy corev1.RestartPolicy
	eager := func(p *corev1.Pod) {
		beside(p)
		p.Spec.RestartPolicy = policy
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
	for _, c := range []struct {
		name   string
		policy corev1.RestartPolicy
		state  func(*bench)
	}{
		{"what has ended for good does not", corev1.RestartPolicyOnFailure, func(b *bench) { b.runs(node.ContainerExited) }},
		{"what comes back has them then", corev1.RestartPolicyAlways, func(b *bench) { b.runs(node.ContainerExited) }},
		{"what has not begun does not", corev1.RestartPolicyAlways, func(*bench) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := small(t)
			policy = c.policy
			b.post(pod("web", "a:1", asks("100m"), eager))
			c.state(b)
			done := b.post(pod("web", "a:1", asks("200m"), eager))
			view, _ := b.in.Store.View(web)
			if len(done.Restarts) > 0 || len(view.Slot.Pod.Restarts) > 0 || b.resized("web") != "now" {
				t.Errorf("restarting %q, asked for %v, resized %s; want no restart, and it resized", done.Restarts, view.Slot.Pod.Restarts, b.resized("web"))
			}
		})
	}
}

func TestResizeLeavesTheShareOfTheSwap(t *testing.T) {
	b := newBench(t)
	memory := func(request, limit string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request), corev1.ResourceCPU: resource.MustParse("1m")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
			}
		}
	}
	restarting := func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	}
	for _, c := range []struct {
		name          string
		before, after func(*corev1.Pod)
		limited       bool
		restarts      bool
		want          string
	}{
		{"where nobody swaps, a request changes", memory("1Mi", "8Mi"), memory("2Mi", "8Mi"), false, false, "now"},
		{"the share of a container stays", memory("1Mi", "8Mi"), memory("2Mi", "8Mi"), true, false, "Infeasible at 1m"},
		{"nor is one taken away", memory("1Mi", "8Mi"), memory("8Mi", "8Mi"), true, false, "Infeasible at 1m"},
		{"nor given", memory("8Mi", "8Mi"), memory("1Mi", "8Mi"), true, false, "Infeasible at 1m"},
		{"who restarts gets the other share", memory("1Mi", "8Mi"), memory("2Mi", "8Mi"), true, true, "now"},
		{"the limit changes alone", memory("1Mi", "8Mi"), memory("1Mi", "16Mi"), true, false, "now"},
	} {
		b.offer.Swap.Limited = c.limited
		policy := func(*corev1.Pod) {}
		if c.restarts {
			policy = restarting
		}
		name := strings.ReplaceAll(strings.ReplaceAll(c.name, " ", "-"), ",", "")
		b.post(pod(name, "a:1", c.before, policy))
		outcome := b.post(pod(name, "a:1", c.after, policy))
		if got := b.resized(name); got != c.want {
			t.Errorf("%s: got %s with %q, want %s", c.name, got, outcome.Warnings, c.want)
		}
	}
}
