package sim

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// ledger records what clients were told: which pods were accepted, changed and deleted. Agents
// neither write nor read it.
type ledger struct {
	wanted map[node.Key]*life
	lives  map[lifeID]*life
}

// lifeID distinguishes two pods even if a name and a UID come back.
type lifeID struct {
	uid      types.UID
	accepted int64
}

// life is one accepted pod.
type life struct {
	id       lifeID
	key      node.Key
	began    time.Time // which is before it was accepted if its record was lost
	turn     int       // the order of acceptance: clocks jump, so times do not show it
	object   *corev1.Pod
	grace    time.Duration // the shortest grace period that was ever asked for
	deadline *time.Time    // when a pod that has to go may be killed
	refused  bool          // the node does not run it
	replaced bool          // another pod was accepted in its place
	restarts map[string]uint32
	rounds   map[string]uint32 // by container: the first run after the last restart of all
	counts   map[string]int32  // restarts seen, by container
	result   corev1.PodPhase
	ended    time.Time     // when the latest run of a container other than a sidecar ended
	active   time.Duration // the shortest time that the pod was ever allowed to run; 0: no limit
	expired  time.Time     // when its agent found that time to be over
	halted   bool          // it ends for a shutdown, and runs again after that
	patience time.Duration // its grace period before that
	awaits   []lifeID      // pods that have to end before this one begins
}

func newLedger() *ledger {
	return &ledger{wanted: map[node.Key]*life{}, lives: map[lifeID]*life{}}
}

func idOf(pod *node.Pod) lifeID { return lifeID{pod.UID(), pod.Accepted.UnixNano()} }

// acknowledge records the state of a key that a client was told.
func (l *ledger) acknowledge(key node.Key, slot *node.Slot) {
	delete(l.wanted, key)
	l.replace(key, slot)
	if slot == nil {
		return
	}
	for _, pod := range []*node.Pod{slot.Pod, slot.Next} {
		if pod != nil {
			heir := l.take(pod)
			if pod.Deletion == nil {
				l.wanted[key] = heir
			}
		}
	}
}

// replace marks pods that have lost their name. A pod whose record is lost is replaced without a
// deletion.
func (l *ledger) replace(key node.Key, slot *node.Slot) {
	for id, known := range l.lives {
		holds := slot != nil && (slot.Pod.UID() == id.uid || slot.Next != nil && slot.Next.UID() == id.uid)
		known.replaced = known.replaced || known.key == key && !holds
	}
}

func (l *ledger) take(pod *node.Pod) *life {
	known := l.lives[idOf(pod)]
	if known == nil {
		known = &life{
			id: idOf(pod), key: pod.Key(), began: pod.Begun(), turn: len(l.lives), grace: node.GracePeriod(pod.Object),
			restarts: map[string]uint32{}, rounds: map[string]uint32{}, counts: map[string]int32{},
		}
		for _, other := range pod.Awaits {
			known.awaits = append(known.awaits, lifeID{other.UID, other.Accepted.UnixNano()})
		}
		l.lives[known.id] = known
	}
	known.object, known.refused = pod.Object, pod.Refused != nil
	known.grace = min(known.grace, node.GracePeriod(pod.Object))
	if d := activeFor(pod.Object); d > 0 && (known.active == 0 || d < known.active) {
		known.active = d
	}
	known.restart(pod.Restarts)
	if pod.Deletion != nil {
		l.condemn(known, pod.Deletion.Deadline())
	}
	return known
}

// activeFor returns how long a pod may run; 0 means without limit.
func activeFor(object *corev1.Pod) time.Duration {
	if s := object.Spec.ActiveDeadlineSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return 0
}

// restart records which runs have to be followed by others.
func (l *life) restart(restarts []node.Restart) {
	for _, r := range restarts {
		l.restarts[r.Container] = r.Attempt
		if r.All {
			l.rounds[r.Container] = r.Attempt + 1
		}
	}
}

// outlived reports whether all containers of the pod have restarted together since a run.
func (l *life) outlived(c *container) bool { return c.attempt < l.rounds[c.name] }

// late reports whether the agent should have ended a pod by now.
func (l *life) late(now time.Time) bool {
	d := activeFor(l.object)
	return d > 0 && now.After(l.began.Add(d))
}

// condemn sets the time by which a pod has to be gone.
func (l *ledger) condemn(latest *life, deadline time.Time) {
	for known := range l.same(latest) {
		if known.deadline == nil || deadline.Before(*known.deadline) {
			known.deadline = &deadline
		}
	}
}

// hurry shortens the time that a pod has to end.
func (l *ledger) hurry(latest *life, grace time.Duration) {
	for known := range l.same(latest) {
		known.grace = min(known.grace, grace)
	}
}

// latest returns the pod as it was last accepted.
func (l *ledger) latest(of *life) *life {
	for _, known := range l.lives {
		if known.id.uid == of.id.uid && known.turn > of.turn {
			of = known
		}
	}
	return of
}

// first returns when a pod was first accepted.
func (l *ledger) first(latest *life) time.Time {
	first := latest.id.accepted
	for known := range l.same(latest) {
		first = min(first, known.id.accepted)
	}
	return time.Unix(0, first)
}

// same yields a pod, and what it was accepted as before its record was lost.
func (l *ledger) same(latest *life) iter.Seq[*life] {
	return func(yield func(*life) bool) {
		for _, known := range l.lives {
			if known.id.uid == latest.id.uid && known.turn <= latest.turn && !yield(known) {
				return
			}
		}
	}
}

// specs yields the containers that make the life of a pod, init containers first.
func specs(object *corev1.Pod) iter.Seq[*corev1.Container] { return node.Containers(&object.Spec) }

func specOf(object *corev1.Pod, name string) *corev1.Container {
	for c := range node.EveryContainer(&object.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
