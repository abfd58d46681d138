package adapter

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// ledger keeps what clients were told: which pods were accepted, changed and deleted.
type ledger struct {
	wanted map[node.Key]*life
	lives  map[types.UID]*life
}

// life is one accepted pod. What it allows, it allows for good.
type life struct {
	key      node.Key
	uid      types.UID
	object   *corev1.Pod
	gone     bool              // it was deleted, or another pod was accepted in its place
	deadline time.Time         // by when it may be killed, once it has to go
	grace    time.Duration     // the shortest that it ever asked for
	restarts map[string]uint32 // by container: the last run that has to be followed by another
	result   bool              // readers were told how it ended
	robbed   bool              // a container of it vanished, and with it what it had to tell
}

// acknowledge takes what a client was told about a key.
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

// spec is the container as it was last wanted.
func (l *life) spec(name string) *corev1.Container {
	for c := range node.EveryContainer(&l.object.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
