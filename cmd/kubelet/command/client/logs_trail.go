package client

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// container is one container of one pod.
type container struct{ uid, name string }

// run is one run of a container, counted from 0.
type run struct {
	container
	attempt int32
}

// trail holds what is known of the runs of a container. They are followed one after the other. A status tells of the newest
// alone: it may leave runs out, and its count of restarts grows before the next run begins.
type trail struct {
	mu    sync.Mutex
	next  int32 // the first run that was not followed yet
	most  int32 // the newest one that there may be
	past  bool  // next was there before, and is not shown from its beginning
	news  bool  // the pod has changed since ask
	taken bool  // runs are being followed
}

// unseen bounds the runs that a pod may have had before its first status came.
const unseen = 2

// newTrail returns the trail of a container that has begun. past says that it was there before.
func newTrail(restarts int32, past bool) *trail {
	if past {
		return &trail{next: restarts, past: true}
	}
	return &trail{next: max(0, restarts-unseen)}
}

// hasBegun reports whether a container has had a run.
func hasBegun(c corev1.ContainerStatus) bool {
	return c.ContainerID != "" || c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

// hear notes a change of the pod. It reports whether the caller has to follow what is new.
func (t *trail) hear(restarts int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most, t.news = max(t.most, restarts), true
	if t.taken || t.next > t.most {
		return false
	}
	t.taken = true
	return true
}

// leave takes back that the caller follows.
func (t *trail) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
}

// ask returns the run to follow now.
func (t *trail) ask() (attempt int32, past bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news = false
	return t.next, t.past
}

// over notes that a run has ended, or that it has no log. The newest may still get one, with the next change of the pod. It
// reports whether the caller has to go on.
func (t *trail) over(absent bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.past = false
	if absent && t.next == t.most {
		t.taken = t.news
		return t.news
	}
	t.next++
	t.taken = t.next <= t.most
	return t.taken
}
