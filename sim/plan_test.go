package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

// TestPlanPredictsWhatApplyDoes edits pods that run, and holds what then became
// of their containers against what had been planned.
func TestPlanPredictsWhatApplyDoes(t *testing.T) {
	verdicts, resized := map[intake.Verdict]int{}, map[bool]int{}
	for seed := range uint64(150) {
		e := newEditing(t, seed)
		e.apply(e.pod)
		for range 6 {
			before := e.runs()
			edited := e.edit()
			planned := e.plan(edited)
			e.want("a plan alone", before)
			if applied := e.apply(edited); told(applied) != told(planned) {
				t.Fatalf("seed %d: planned was %s, done is %s", seed, told(planned), told(applied))
			}
			e.want(told(planned), predicted(before, e.uid(), edited, planned))
			e.wantHeld()
			verdicts[planned.Verdict]++
			if planned.Verdict == intake.Updated && strings.Contains(fmt.Sprint(planned.Changes), "resources") {
				resized[len(planned.Restarts) > 0]++
			}
			e.pod = edited
		}
	}
	for _, v := range []intake.Verdict{intake.Unchanged, intake.Updated, intake.Replaced} {
		if verdicts[v] < 50 {
			t.Errorf("only %d edits came out as %s", verdicts[v], v)
		}
	}
	if resized[true] < 20 || resized[false] < 20 {
		t.Errorf("only %d edits gave containers other resources with a restart, %d without", resized[true], resized[false])
	}
}

// predicted are the runs that a plan leads to.
func predicted(before map[string]string, uid string, edited *corev1.Pod, planned intake.Outcome) map[string]string {
	after := maps.Clone(before)
	switch planned.Verdict {
	case intake.Updated:
		for _, name := range planned.Restarts {
			after[name] += "+1"
		}
	case intake.Replaced:
		clear(after)
		for c := range specs(edited) {
			after[c.Name] = uid + "/0"
		}
	}
	return after
}

func told(o intake.Outcome) string {
	return fmt.Sprintf("%s, restarting %v because of %v", o.Verdict, o.Restarts, o.Changes)
}

// editing is one pod on a node without faults.
type editing struct {
	*simulation
	t    *testing.T
	seed uint64
	pod  *corev1.Pod
	last map[string]uint32 // attempts when runs were last read
}

var edited = node.Key{Namespace: "default", Name: "web"}

func newEditing(t *testing.T, seed uint64) *editing {
	s := newSimulation(Options{Seed: seed, Without: Kinds(), Trace: true})
	s.boot(NoBug)
	s.calm()
	e := &editing{simulation: s, t: t, seed: seed, pod: s.clients.newPod(edited)}
	e.pod.Spec.RestartPolicy, e.pod.Spec.ActiveDeadlineSeconds = corev1.RestartPolicyAlways, nil
	for c := range specs(e.pod) {
		e.image(c)
		if !node.IsSidecar(c) {
			c.RestartPolicy = nil
		}
		c.RestartPolicyRules = nil
	}
	e.clients.sizing(e.pod)
	for i := range e.pod.Spec.Containers {
		e.amount(&e.pod.Spec.Containers[i])
	}
	return e
}

// amount gives a container so little that there is room for it.
func (e *editing) amount(c *corev1.Container) {
	request := 100 + 100*e.rand.Int64N(3)
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(request, resource.DecimalSI)}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(2*request, resource.DecimalSI)}
}

// image gives a container a program that does what its place asks of it.
func (e *editing) image(c *corev1.Container) {
	program := "forever"
	if node.InitContainer(&e.pod.Spec, c.Name) != nil && !node.IsSidecar(c) {
		program = "job"
	}
	c.Image = fmt.Sprintf("sim/%s:%d", program, 1+e.rand.IntN(3))
}

func (e *editing) apply(pod *corev1.Pod) intake.Outcome {
	outcomes, _, err := e.clients.intake(e.agent, node.SourceAPI).Apply([]intake.Delivery{{Pod: pod}}, e.clock())
	if err != nil {
		e.t.Fatalf("seed %d: apply: %v", e.seed, err)
	}
	e.clients.told(e.agent, edited)
	e.agent.turn()
	e.runFor(time.Minute)
	if e.witness.failure != nil {
		e.t.Fatalf("seed %d: %v", e.seed, e.witness.failure)
	}
	return outcomes[0]
}

func (e *editing) plan(pod *corev1.Pod) intake.Outcome {
	outcomes, err := e.clients.intake(e.agent, node.SourceAPI).Plan([]intake.Delivery{{Pod: pod}}, e.clock())
	if err != nil {
		e.t.Fatalf("seed %d: plan: %v", e.seed, err)
	}
	e.agent.turn()
	e.runFor(time.Minute)
	return outcomes[0]
}

// edit changes the manifest in up to two ways.
func (e *editing) edit() *corev1.Pod {
	pod := e.pod.DeepCopy()
	for range e.rand.IntN(3) {
		all := slices.Collect(specs(pod))
		c := all[e.rand.IntN(len(all))]
		value := fmt.Sprint(e.rand.IntN(3))
		switch e.rand.IntN(12) {
		case 0, 1:
			e.image(c)
		case 9, 10:
			e.amount(&pod.Spec.Containers[e.rand.IntN(len(pod.Spec.Containers))])
		case 11:
			pod.Spec.ActiveDeadlineSeconds = new(100_000 + e.rand.Int64N(3))
		case 2:
			pod.Labels = map[string]string{"v": value}
		case 3:
			pod.Annotations = map[string]string{"v": value}
		case 4:
			*pod.Spec.TerminationGracePeriodSeconds = e.rand.Int64N(20)
		case 5:
			c.ImagePullPolicy = corev1.PullIfNotPresent
		case 6:
			c.Env = []corev1.EnvVar{{Name: "V", Value: value}}
		case 7:
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: value, Operator: corev1.TolerationOpExists})
		case 8:
			pod.Spec.Hostname = "host" + value
		}
	}
	manifest.Default(pod)
	return pod
}

func (e *editing) uid() string {
	view, _ := e.agent.store.View(edited)
	return string(view.Slot.Pod.UID())
}

// runs are the newest runs, as UID and attempt, by container.
func (e *editing) runs() map[string]string {
	runs := map[string]string{}
	e.last = map[string]uint32{}
	for _, c := range e.containers {
		if runs[c.name] == "" || c.attempt >= e.last[c.name] {
			runs[c.name], e.last[c.name] = fmt.Sprintf("%s/%d", c.uid, c.attempt), c.attempt
		}
	}
	return runs
}

// wantHeld wants the kernel to hold the pod to what its manifest says.
func (e *editing) wantHeld() {
	e.t.Helper()
	view, _ := e.agent.store.View(edited)
	if err := e.held(view.Slot.Pod); err != nil {
		e.t.Fatalf("seed %d: %v; the story:\n%s", e.seed, err, strings.Join(e.trace.lines, "\n"))
	}
}

// want compares the newest runs; "u1/0+1" is the run after u1/0.
func (e *editing) want(because string, want map[string]string) {
	e.t.Helper()
	for name, run := range want {
		var attempt int
		if uid, next, ok := strings.Cut(run, "/"); ok && strings.HasSuffix(next, "+1") {
			fmt.Sscanf(next, "%d+1", &attempt)
			want[name] = fmt.Sprintf("%s/%d", uid, attempt+1)
		}
	}
	if got := e.runs(); !maps.Equal(got, want) {
		e.t.Fatalf("seed %d: %s: the runs are %v, want %v; the story:\n%s", e.seed, because, got, want, strings.Join(e.trace.lines, "\n"))
	}
}
