//go:build !race

// The race detector makes it six times slower, and TestSeeds shows it the same code.
package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

// TestPlanPredictsWhatApplyDoes edits pods of all kinds at random moments, and compares the fate of
// their containers with the plan.
func TestPlanPredictsWhatApplyDoes(t *testing.T) {
	met := met{}
	for seed := range uint64(400) {
		e := newEditing(t, seed)
		e.apply(e.pod)
		for range 3 {
			e.runFor(e.faults.between(0, 5*time.Second))
			e.catchUp()
			changed, before := e.edit(), e.standings()
			planned := e.plan(changed)
			e.meet(met, changed, before, planned)
			if applied := e.apply(changed); told(applied) != told(planned) {
				t.Fatalf("seed %d: the plan was %s, the result is %s", seed, told(planned), told(applied))
			}
			e.pod = changed
			e.runFor(time.Minute)
			if e.witness.failure != nil {
				e.failf("%v", e.witness.failure)
			}
			e.compare(planned, before)
			e.wantHeld()
		}
	}
	for _, what := range []string{
		"unchanged", "updated", "replaced", "edited while init containers run",
		"another image of what runs", "another image of what runs once", "another image of what has ended for good", "another image of what comes back",
		"other resources of what runs", "other resources of what has ended for good",
	} {
		if met[what] < 5 {
			t.Errorf("%s was met only %d times", what, met[what])
		}
	}
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
}

var edited = node.Key{Namespace: "default", Name: "web"}

// newEditing makes a random pod, without rules that restart all containers: no plan could foresee
// them.
func newEditing(t *testing.T, seed uint64) *editing {
	s := newSimulation(Options{Seed: seed, Without: Kinds(), Trace: true})
	s.boot(NoBug)
	s.calm()
	e := &editing{simulation: s, t: t, seed: seed, pod: s.clients.newPod(edited)}
	e.pod.Spec.ActiveDeadlineSeconds = nil
	for c := range specs(e.pod) {
		for i := range c.RestartPolicyRules {
			c.RestartPolicyRules[i].Action = corev1.ContainerRestartRuleActionRestart
		}
	}
	// One container has done its work and the other runs on.
	if list := e.pod.Spec.Containers; len(list) == 2 && e.rand.IntN(2) == 0 {
		list[0].Image, list[0].RestartPolicy = "sim/job:1", new(corev1.ContainerRestartPolicyOnFailure)
	}
	e.clients.sizing(e.pod)
	for i := range e.pod.Spec.Containers {
		e.amount(&e.pod.Spec.Containers[i])
	}
	return e
}

func (e *editing) failf(format string, args ...any) {
	e.t.Helper()
	e.t.Fatalf("seed %d: %s; the story:\n%s", e.seed, fmt.Sprintf(format, args...), strings.Join(e.trace.lines, "\n"))
}

// amount gives a container so little CPU that the node has room for it.
func (e *editing) amount(c *corev1.Container) {
	request := 100 + 100*e.rand.Int64N(3)
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(request, resource.DecimalSI)}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(2*request, resource.DecimalSI)}
}

// image gives a container another of the programs that its place allows.
func (e *editing) image(pod *corev1.Pod, c *corev1.Container) {
	c.Image = e.clients.image()
	if runsOnce(pod, c) {
		c.Image = fmt.Sprintf("sim/%s:%d", [...]string{"job", "job", "crash"}[e.rand.IntN(3)], 1+e.rand.IntN(3))
	}
}

func runsOnce(pod *corev1.Pod, c *corev1.Container) bool {
	return node.InitContainer(&pod.Spec, c.Name) != nil && !node.IsSidecar(c)
}

func (e *editing) apply(pod *corev1.Pod) intake.Outcome {
	outcomes, _, err := e.clients.intake(e.agent, node.SourceAPI).Apply([]intake.Delivery{{Pod: pod}}, e.clock())
	if err != nil {
		e.t.Fatalf("seed %d: apply: %v", e.seed, err)
	}
	e.clients.told(e.agent, edited)
	e.agent.turn()
	return outcomes[0]
}

func (e *editing) plan(pod *corev1.Pod) intake.Outcome {
	revision := e.agent.store.Revision()
	outcomes, err := e.clients.intake(e.agent, node.SourceAPI).Plan([]intake.Delivery{{Pod: pod}}, e.clock())
	if err != nil {
		e.t.Fatalf("seed %d: plan: %v", e.seed, err)
	}
	if now := e.agent.store.Revision(); now != revision {
		e.failf("a plan alone took the store from revision %d to %d", revision, now)
	}
	return outcomes[0]
}

// edit returns the manifest with up to three changes.
func (e *editing) edit() *corev1.Pod {
	pod := e.pod.DeepCopy()
	for range e.rand.IntN(4) {
		all := slices.Collect(specs(pod))
		c := all[e.rand.IntN(len(all))]
		value := fmt.Sprint(e.rand.IntN(3))
		switch e.rand.IntN(16) {
		case 0, 1, 2, 3:
			e.image(pod, c)
		case 4, 5, 6:
			e.amount(&pod.Spec.Containers[e.rand.IntN(len(pod.Spec.Containers))])
		case 14, 15:
			if len(pod.Spec.InitContainers) > 0 {
				e.image(pod, &pod.Spec.InitContainers[e.rand.IntN(len(pod.Spec.InitContainers))])
			}
		case 7:
			pod.Spec.ActiveDeadlineSeconds = new(100_000 + e.rand.Int64N(3))
		case 8:
			pod.Labels = map[string]string{"v": value}
		case 9:
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "v", value)
		case 10:
			*pod.Spec.TerminationGracePeriodSeconds = e.rand.Int64N(20)
		case 11:
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: value, Operator: corev1.TolerationOpExists})
		case 12:
			c.Env = []corev1.EnvVar{{Name: "V", Value: value}}
		case 13:
			pod.Spec.Hostname = "host" + value
		}
	}
	manifest.Default(pod)
	return pod
}

// catchUp waits until the agent knows the state of the machine. A plan cannot know more.
func (e *editing) catchUp() {
	for !e.abreast() && e.step() {
	}
}

func (e *editing) abreast() bool {
	if slices.ContainsFunc(e.pending, func(c *call) bool { return c.action.About().Nature != node.Slow }) || len(e.agent.watched) > 0 {
		return false
	}
	t, ok := e.agent.loop.Track(edited)
	if !ok {
		return true
	}
	for _, known := range t.Got().Containers {
		if c := e.container(known.ID); c == nil || c.state != known.State || c.state == node.ContainerExited && !known.Inspected {
			return false
		}
	}
	return true
}

// standing is the state of a container's newest run at the time of the edit.
type standing struct {
	run     *container
	state   node.ContainerState
	leaving bool // it had to end in any case, to make room for another run
}

func (e *editing) standings() map[string]standing {
	l, all := e.witness.wanted[edited], map[string]standing{}
	for c := range specs(l.object) {
		run := e.newest(l, c.Name)
		if run == nil || run.state == node.ContainerCreated {
			continue
		}
		asked, ok := l.restarts[c.Name]
		all[c.Name] = standing{run, run.state, run.termed || run.hooks.ending || ok && run.attempt <= asked}
	}
	return all
}

// compare compares what happened to the containers of a kept pod with the plan.
func (e *editing) compare(planned intake.Outcome, before map[string]standing) {
	e.t.Helper()
	l := e.witness.wanted[edited]
	for name, was := range before {
		if planned.Verdict == intake.Replaced {
			if slices.Contains(e.containers, was.run) {
				e.failf("%s is there though its pod was replaced", was.run)
			}
			continue
		}
		followed := e.newest(l, name).attempt > was.run.attempt
		stays := was.state == node.ContainerExited && !node.Rerun(&l.object.Spec, specOf(l.object, name), was.run.exit)
		switch restarts := slices.Contains(planned.Restarts, name); {
		case stays && !was.leaving && (restarts || followed):
			e.failf("%s had ended for good; the plan was %s", was.run, told(planned))
		case restarts && was.run.running():
			e.failf("%s was to restart and runs on", was.run)
		case restarts && !followed && !e.over(l):
			e.failf("%s was to restart and is not followed by another run", was.run)
		case restarts || was.leaving:
		case was.state == node.ContainerRunning && was.run.termed && !e.over(l):
			e.failf("%s was to run on and is ended", was.run)
		}
	}
}

// meet counts the kinds of edits.
func (e *editing) meet(met met, changed *corev1.Pod, before map[string]standing, planned intake.Outcome) {
	met.addf("%s", planned.Verdict)
	if planned.Verdict != intake.Updated {
		return
	}
	resized := manifest.RestartedBy(e.pod, changed)
	for c := range specs(changed) {
		was, begun := before[c.Name]
		how := ""
		switch {
		case !begun || was.leaving:
			continue
		case was.state == node.ContainerRunning && runsOnce(changed, c):
			met.addf("edited while init containers run")
			how = "runs once"
		case was.state == node.ContainerRunning:
			how = "runs"
		case node.Rerun(&changed.Spec, c, was.run.exit):
			how = "comes back"
		default:
			how = "has ended for good"
		}
		if c.Image != specOf(e.pod, c.Name).Image {
			met.addf("another image of what %s", how)
		}
		if slices.Contains(resized, c.Name) {
			met.addf("other resources of what %s", how)
		}
	}
}

// wantHeld checks that the kernel holds a pod at rest to its manifest.
func (e *editing) wantHeld() {
	e.t.Helper()
	view, _ := e.agent.store.View(edited)
	t, ok := e.agent.loop.Track(edited)
	if !ok || view.Slot.Closed() {
		return
	}
	if calm, _ := e.agent.loop.Calm(t); !calm {
		return
	}
	if err := e.held(view.Slot.Pod); err != nil {
		e.failf("%v", err)
	}
}
