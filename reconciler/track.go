package reconciler

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler/decide"
)

// Track follows one pod from plan to plan. It does no I/O and reads no clock, so the simulation runs the same code as
// the node.
type Track struct {
	course
	slot    *node.Slot
	got     *node.Observed
	objects map[node.ObjectRef]int64
	probed  map[string]string // by container, the last run of which a readiness probe of this agent was heard
}

// Turn is the work of a track for now.
type Turn struct {
	Actions []node.Action
	Cancel  []string  // targets in flight whose result is not needed any more
	Observe bool      // look at the machine first
	Wake    time.Time // the next turn without a change; zero means none
	Why     string
}

// NewTrack starts to follow a pod. If known is true, got is all there is of the pod; otherwise the track observes
// first.
func NewTrack(slot *node.Slot, got *node.Observed, known bool) *Track {
	begin := got.Clone()
	begin.Health = presumed(slot, got) // the next look drops that of runs that are gone
	begin.Lost = slot.Lost
	return &Track{course: newCourse(!known), slot: slot, got: begin, probed: map[string]string{}}
}

// Slot and Got are the present snapshots; both are immutable.
func (t *Track) Slot() *node.Slot    { return t.slot }
func (t *Track) Got() *node.Observed { return t.got }

// Intend takes the present slot, and returns which actions in flight have lost their purpose. nil means none. A hook
// keeps its purpose until its run ends: half of a hook and then a whole one is worse than one too many.
func (t *Track) Intend(slot *node.Slot) (obsolete func(node.Action) bool) {
	old := t.slot
	t.slot = slot
	t.learn(slot.Health)
	if old.Pod.UID() != slot.Pod.UID() {
		t.learn(presumed(slot, t.got))
	}
	switch {
	case old.Pod == slot.Pod && old.Termination == slot.Termination:
		return nil
	case old.Pod.Deletion != slot.Pod.Deletion:
		t.forget(old.Pod.UID() != slot.Pod.UID() || old.Pod.Deletion != nil && slot.Pod.Deletion == nil)
		return func(a node.Action) bool { return !isHook(a) }
	case old.Pod.Object != slot.Pod.Object:
		t.forget(false)
		return mayBeGivenUp
	case old.Termination != slot.Termination:
		return mayBeGivenUp
	}
	return nil
}

// forget drops failures that a new intent may cure. For a new pod under the old name it also drops what was prepared
// for the old pod.
func (t *Track) forget(successor bool) {
	got := t.got.Clone()
	got.Faults = nil
	if successor {
		got.Images, got.Readied, got.Lost = nil, nil, nil
		clear(got.Laid[:])
	}
	t.got = got
}

// Supply takes the revisions of the objects that the pod uses, and reports whether they are news. News drops all
// faults, so that an action that lacked an object is retried at once.
func (t *Track) Supply(objects map[node.ObjectRef]int64) (news bool) {
	if maps.Equal(t.objects, objects) {
		return false
	}
	t.objects = objects
	t.Retry()
	return true
}

// Retry drops all faults, so that every action is retried at once.
func (t *Track) Retry() {
	if len(t.got.Faults) > 0 {
		t.forget(false)
	}
}

// Trail takes the pods for which this one has to wait before its next sandbox is made.
func (t *Track) Trail(behind []node.Unready) {
	if slices.Equal(t.got.Behind, behind) {
		return
	}
	got := t.got.Clone()
	got.Behind = behind
	t.got = got
}

// Feel takes how the devices of the pod are.
func (t *Track) Feel(devices []node.DeviceHealth) {
	if slices.Equal(t.got.Devices, devices) {
		return
	}
	got := t.got.Clone()
	got.Devices = devices
	t.got = got
}

// See takes an observation that began at a mark, and reports whether it did. It refuses one that may show a past state:
// one that is older than the last observation or than our last effect, or that comes while an effect is under way.
func (t *Track) See(seen *node.Observed, mark node.Mark, now time.Time) bool {
	if t.refuses(mark, t.got.Mark) {
		return false
	}
	old := t.got
	t.got = merge(old, seen, mark)
	unbind(t.got, t.slot.Pod.UID())
	t.got.Miss(old, now)
	t.cure()
	t.took(mark)
	return true
}

// cure drops the faults of a sandbox or container that is there after all: a call without an answer had its effect.
func (t *Track) cure() {
	uid := t.slot.Pod.UID()
	t.got.Faults = maps.Clone(t.got.Faults)
	maps.DeleteFunc(t.got.Faults, func(target string, _ node.Fault) bool {
		if target == node.SandboxTarget() {
			return t.got.Home(uid) != nil
		}
		name, ok := strings.CutPrefix(target, node.ContainerTarget(""))
		run := t.got.Newest(uid, name)
		return ok && run != nil && run.State == node.ContainerRunning
	})
}

// Next decides what to do. The input holds what the track does not know itself. Next returns an empty turn while
// effects are under way.
func (t *Track) Next(in decide.Input) Turn {
	if t.acting() && !t.endsDespiteLooks() {
		return Turn{}
	}
	if t.unsure {
		return Turn{Observe: true}
	}
	in.Slot, in.Got, in.Busy, in.Objects = t.slot, t.got, t.busy, t.objects
	plan := decide.Pod(in)
	turn := Turn{Actions: t.idle(plan.Actions), Wake: plan.Wake, Why: plan.Why}
	for _, target := range t.targets() {
		if t.pointless(t.busy[target]) {
			turn.Cancel = append(turn.Cancel, target)
		}
	}
	return turn
}

// endsDespiteLooks reports whether the pod has to end, and nothing is in flight but looks at it. A runtime that does not
// answer one of them must not take from its containers the time in which they may end.
func (t *Track) endsDespiteLooks() bool {
	ends := t.slot.Pod.Deletion != nil || t.slot.Termination != nil
	return ends && !t.unsure && !t.changing()
}

// Outcome is the end of an action.
type Outcome struct {
	Action node.Action
	Result node.Result
	Err    error
	Mark   node.Mark // taken when it ended
	Now    time.Time
}

// Done folds the outcome of an action into the observation.
func (t *Track) Done(o Outcome) {
	switch known := t.ended(o); {
	case o.Err == nil:
		t.got = fold(t.got, t.slot.Pod.UID(), o)
	case known:
		t.got = fail(t.got, o)
	}
}

// merge returns the new observation. Where a sandbox or container has not changed, it keeps the results of earlier
// inspections.
func merge(old, seen *node.Observed, mark node.Mark) *node.Observed {
	got := seen.Clone()
	got.Mark = mark
	got.Images, got.Readied, got.Faults, got.Behind, got.Devices = old.Images, old.Readied, old.Faults, old.Behind, old.Devices
	got.Health = healthOf(old, got)
	got.Laid = old.Laid
	got.Laid[node.Logs].Gone = old.Laid[node.Logs].Gone && got.Empty()
	for i := range got.Sandboxes {
		s := &got.Sandboxes[i]
		for _, known := range old.Sandboxes {
			if known.ID == s.ID {
				s.IPs, s.Inspected, s.Stopped = known.IPs, known.Inspected, known.Stopped
			}
		}
	}
	for i := range got.Containers {
		c := &got.Containers[i]
		for _, known := range old.Containers {
			switch {
			case known.ID != c.ID:
			case known.State == c.State:
				*c = known
			default:
				c.StartedAt, c.Limits, c.Hooks = known.StartedAt, known.Limits, known.Hooks
				c.Hooks.Fresh = known.State == node.ContainerCreated
			}
		}
	}
	return got
}

// healthOf returns the health of the runs that are still there.
func healthOf(old, got *node.Observed) map[string]node.Health {
	health := maps.Clone(old.Health)
	maps.DeleteFunc(health, func(_ string, h node.Health) bool { return containerByID(got, h.ID) == nil })
	return health
}

// Hear takes the result of a probe, and reports whether it is news. The result belongs to one run, so it counts however
// late it comes.
func (t *Track) Hear(word node.Probed) bool {
	run := t.got.Newest(t.slot.Pod.UID(), word.Container)
	if run == nil || run.ID != word.ID {
		return false
	}
	if word.Kind == node.ReadinessProbe {
		t.probed[run.Name] = run.ID
	}
	before := t.got.HealthOf(run)
	after := before.After(word)
	if after == before {
		return false
	}
	got := t.got.Clone()
	setHealth(got, word.Container, after)
	t.got = got
	return true
}

// Differs reports whether an observation shows other sandboxes or containers than are known, or other states of them.
func (t *Track) Differs(seen *node.Observed) bool {
	return !reflect.DeepEqual(outline(t.got), outline(seen))
}

type shape struct {
	id    string
	state uint8
}

func outline(o *node.Observed) []shape {
	shapes := make([]shape, 0, len(o.Sandboxes)+len(o.Containers))
	for i := range o.Sandboxes {
		shapes = append(shapes, shape{o.Sandboxes[i].ID, uint8(o.Sandboxes[i].State)})
	}
	for i := range o.Containers {
		shapes = append(shapes, shape{o.Containers[i].ID, uint8(o.Containers[i].State)})
	}
	return shapes
}

// Strangers reports whether something under this name belongs to another pod.
func (t *Track) Strangers() bool {
	other := func(uid types.UID) bool { return uid != t.slot.Pod.UID() }
	for i := range t.got.Sandboxes {
		if other(t.got.Sandboxes[i].UID) {
			return true
		}
	}
	for i := range t.got.Containers {
		if other(t.got.Containers[i].UID) {
			return true
		}
	}
	return false
}

// sameFacts reports whether two observations show readers the same.
func sameFacts(a, b *node.Observed) bool {
	x, y := *a, *b
	x.Mark, y.Mark = 0, 0
	return reflect.DeepEqual(x, y)
}
