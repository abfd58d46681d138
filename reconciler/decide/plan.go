package decide

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/life"
)

// Plan holds the actions for now, the time of the next plan without a change, and the reason for waiting.
type Plan struct {
	Actions []node.Action
	Wake    time.Time // zero means only when something changes
	Why     string
}

// Step adds its actions to the plan. done means that no later step may act yet.
type Step func(*Plan, *View) (done bool)

var (
	setup = []Step{
		strays, unheard, settled, learn, noteLost, deadline, terminated, awaited, startOver, retire, // may be all there is to do
		sandbox, cgroup, postStart, noteHealth, condemned, resize, // for what runs
		volumes, images, prune, ephemeral, initContainers, containers, settle, // for what is to run
	}
	teardown = []Step{
		strays, stopContainers, stopSandboxes, unprepare, removeSandboxes,
		tearDown(node.Cgroup), tearDown(node.Volumes), tearDown(node.Logs), forget,
	}
)

// Input is all that a plan depends on.
type Input struct {
	Site    node.Site
	Slot    *node.Slot
	Got     *node.Observed
	Busy    map[string]node.Action   // in flight, by target
	Objects map[node.ObjectRef]int64 // revisions of the objects that the pod uses; a missing object has none
	Scarce  bool                     // the node's disk runs short
	Unheard bool                     // the pod's source has not said yet, since this start, what it wants
	Wanted  node.Wants               // of other pods, which a source may not have delivered; nil means none
	Now     time.Time
}

// Pod plans the next actions for the pod that owns the slot.
func Pod(in Input) Plan {
	v := newView(in)
	steps := setup
	switch {
	case in.Slot.Newer:
		steps = []Step{leaveAlone}
	case in.Slot.Pod.Deletion != nil:
		steps = teardown
	}
	var plan Plan
	for _, step := range steps {
		if step(&plan, v) {
			break
		}
	}
	return plan
}

// plans reports whether the plan has an action on a target.
func (p *Plan) plans(target string) bool {
	return slices.ContainsFunc(p.Actions, func(a node.Action) bool { return a.Target() == target })
}

// looks reports whether the plan inspects a sandbox or a container.
func (p *Plan) looks() bool {
	return slices.ContainsFunc(p.Actions, func(a node.Action) bool { return a.About().Nature == node.Looks })
}

func (p *Plan) add(actions ...node.Action) { p.Actions = append(p.Actions, actions...) }

// wait asks for another plan at a time; the earliest time wins.
func (p *Plan) wait(until time.Time, why string) {
	if p.Wake.IsZero() || until.Before(p.Wake) {
		p.Wake = until
	}
	p.why(why)
}

func (p *Plan) why(reason string) {
	if p.Why == "" {
		p.Why = reason
	}
}

// try adds an action, unless its target has failed and rests until a retry.
func (p *Plan) try(v *View, a node.Action) { p.attempt(v.got.Faults, v.now, a) }

func (p *Plan) attempt(faults map[string]node.Fault, now time.Time, a node.Action) {
	if fault, ok := faults[a.Target()]; ok && now.Before(fault.Retry) {
		p.wait(fault.Retry, fault.Reason)
		return
	}
	p.add(a)
}

// View holds the input of the plan for its steps, with the parts that several of them need worked out once.
type View struct {
	site    node.Site
	slot    *node.Slot
	pod     *node.Pod
	object  *corev1.Pod // with the resources that the node has given it
	spec    *corev1.PodSpec
	got     *node.Observed
	busy    map[string]node.Action
	objects map[node.ObjectRef]int64
	scarce  bool
	unheard bool
	wanted  node.Wants
	now     time.Time
	life    *life.Life    // how far the pod has come
	sandbox *node.Sandbox // the ready one in which the pod lives
}

func newView(in Input) *View {
	object, l := in.Slot.Pod.Allocated(), life.Of(in.Slot, in.Got)
	return &View{
		site: in.Site, slot: in.Slot, pod: in.Slot.Pod, object: object, spec: &object.Spec,
		got: in.Got, busy: in.Busy, objects: in.Objects, scarce: in.Scarce, unheard: in.Unheard, wanted: in.Wanted, now: in.Now, life: l, sandbox: l.Sandbox,
	}
}

// containers returns the init containers of the pod, then its containers. Ephemeral ones do not count.
func (v *View) containers() iter.Seq[*corev1.Container] { return node.Containers(v.spec) }

// run returns the newest run of a container.
func (v *View) run(name string) *node.Container { return v.life.Run(name) }

// current returns the newest run of a container if it belongs to the present sandbox.
func (v *View) current(name string) *node.Container { return v.life.Current(name) }

// running returns the containers that run in the present sandbox, each with its run. While there is no sandbox, the
// last one counts.
func (v *View) running() iter.Seq2[*corev1.Container, *node.Container] {
	return func(yield func(*corev1.Container, *node.Container) bool) {
		for c := range v.containers() {
			run := v.current(c.Name)
			if run != nil && run.State == node.ContainerRunning && !yield(c, run) {
				return
			}
		}
	}
}

// nextAttempt returns the attempt after that of the newest run, or the one that the tally remembers when the runtime
// has lost that run. It is greater than every attempt for which a restart was asked.
func (v *View) nextAttempt(name string) uint32 {
	attempt := uint32(v.slot.Tallies[name].Restarts)
	for _, r := range v.pod.Restarts {
		if r.Container == name {
			attempt = max(attempt, r.Attempt+1)
		}
	}
	if run := v.run(name); run != nil {
		attempt = max(attempt, run.Attempt+1)
	}
	return attempt
}
