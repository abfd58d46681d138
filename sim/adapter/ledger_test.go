package adapter

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// ledger records what the API acknowledged to clients: the pods accepted, changed and deleted.
type ledger struct {
	wanted map[node.Key]*life
	lives  map[types.UID]*life
}

// life is one accepted pod. A permission that it once gave holds for good.
type life struct {
	key      node.Key
	uid      types.UID
	object   *corev1.Pod
	gone     bool              // the pod was deleted, or another pod was accepted in its place
	deadline time.Time         // when a pod that has to go may be killed
	grace    time.Duration     // the shortest grace period that was ever asked for
	restarts map[string]uint32 // the last run of each container that has to be followed by another
	result   bool              // a final result was published
	robbed   bool              // one of its containers vanished before its exit code was read
}

// acknowledge records the state of a key that a client was given.
func (l *ledger) acknowledge(s *store.Store, key node.Key) {
	delete(l.wanted, key)
	view, _ := s.View(key)
	for _, known := range l.lives {
		known.gone = known.gone || known.key == key
	}
	if view.Slot == nil {
		return
	}
	for _, pod := range []*node.Pod{view.Slot.Pod, view.Slot.Next} {
		if pod == nil || pod.Source == node.SourceRuntime {
			continue
		}
		if taken := l.take(pod); !taken.gone {
			l.wanted[key] = taken
		}
	}
}

func (l *ledger) take(pod *node.Pod) *life {
	known := l.lives[pod.UID()]
	if known == nil {
		known = &life{key: pod.Key(), uid: pod.UID(), grace: node.GracePeriod(pod.Object), restarts: map[string]uint32{}}
		l.lives[pod.UID()] = known
	}
	known.object, known.gone, known.grace = pod.Object, pod.Deletion != nil, min(known.grace, node.GracePeriod(pod.Object))
	if d := pod.Deletion; d != nil && (known.deadline.IsZero() || d.Deadline().Before(known.deadline)) {
		known.deadline, known.grace = d.Deadline(), min(known.grace, d.Grace)
	}
	for _, restart := range pod.Restarts {
		known.restarts[restart.Container] = restart.Attempt
	}
	return known
}

// spec returns the container as it was last wanted.
func (l *life) spec(name string) *corev1.Container {
	for c := range node.EveryContainer(&l.object.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
