package sim

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// Overtake is a bug of the order between pods.
const Overtake Bug = "starting a pod while those before it are not ready"

// sequence has some pods start after others, and knows which pods have truly been ready. It has a random source of its
// own.
type sequence struct {
	rand  *rand.Rand
	on    bool              // pods start after others in this run
	began map[part]bool     // containers that have run since the machine booted
	told  map[part]probedOK // what probes have said of them
}

// part names a container of a pod over all of its runs.
type part struct {
	uid  types.UID
	name string
}

type probedOK struct{ started, ready bool }

func newSequence(o Options) *sequence {
	r := rand.New(rand.NewPCG(o.Seed, 6))
	return &sequence{rand: r, on: r.IntN(3) == 0, began: map[part]bool{}, told: map[part]probedOK{}}
}

// ordering may have a pod start after others. web starts after none, so that there is no circle.
func (s *sequence) ordering(pod *corev1.Pod) {
	before := map[string]string{"db": "default/web", "static": "default/db,default/web"}[pod.Name]
	if s.on && before != "" && s.rand.IntN(2) == 0 {
		pod.Annotations = map[string]string{node.AnnotationAfter: before}
	}
}

// hears notes what a probe says of a container.
func (s *sequence) hears(c *container, word node.Probed) {
	known := s.told[part{c.uid, c.name}]
	known.started = known.started || word.OK && word.Kind == node.StartupProbe
	known.ready = known.ready || word.OK && word.Kind == node.ReadinessProbe
	s.told[part{c.uid, c.name}] = known
}

// served reports whether a pod may have been ready at some time since the machine booted.
func (s *sequence) served(pod *node.Pod) bool {
	for c := range node.LastingContainers(&pod.Object.Spec) {
		at := part{pod.UID(), c.Name}
		told := s.told[at]
		if !s.began[at] || c.StartupProbe != nil && !told.started || c.ReadinessProbe != nil && !told.ready {
			return false
		}
	}
	return true
}

// startsInOrder checks that a pod gets a sandbox only once those before it have been ready.
func (w *world) startsInOrder(held *store.Store, t *reconciler.Tracked, a node.Action) {
	if a.About().Nature != node.MakesSandbox {
		return
	}
	keys, _ := node.Before(t.Slot().Pod.Object)
	for _, key := range keys {
		switch view, ok := held.View(key); {
		case !ok:
			w.witness.failf("pod %s begins before %s, which the node does not have", t.Key, key)
		case view.Slot.Pod.Deletion != nil:
			w.witness.failf("pod %s begins before %s, which is being deleted", t.Key, key)
		case view.Slot.Result != nil && view.Slot.Result.Phase == corev1.PodSucceeded:
		case !w.sequence.served(view.Slot.Pod):
			w.witness.failf("pod %s begins before %s has been ready", t.Key, key)
		}
		w.met.addf("order: a pod starts after another one")
	}
}

// overtakes plants the bug Overtake.
func (h hands) overtakes(t *reconciler.Tracked) {
	if h.bug == Overtake && len(t.Got().Behind) > 0 && t.Idle() {
		h.call(t, node.RunSandbox{})
	}
}

// trails reports whether a pod of which nothing runs may wait for another one.
func (s *simulation) trails(l *life) bool {
	if slices.ContainsFunc(s.sandboxes, func(b *sandbox) bool { return b.uid == l.id.uid && b.ready }) {
		return false
	}
	keys, _ := node.Before(l.object)
	return slices.ContainsFunc(keys, func(key node.Key) bool { return !s.serves(s.witness.wanted[key]) })
}

// serves reports whether a pod has succeeded, or all its containers run.
func (s *simulation) serves(l *life) bool {
	if l == nil || l.result != "" {
		return l != nil && l.result == corev1.PodSucceeded
	}
	for c := range node.LastingContainers(&l.object.Spec) {
		if run := s.newest(l, c.Name); run == nil || !run.running() || !run.sandbox.ready {
			return false
		}
	}
	return true
}
