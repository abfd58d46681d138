package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Counts are told what metrics show of pods and events do not tell. They hold up nobody.
type Counts interface {
	// Taken tells of a pod that is new to the node, whether the node runs it or not.
	Taken(*node.Pod)
	// Worked tells that for now nothing is left to do for a pod.
	Worked(operation string, took time.Duration)
}

// work is what is done for a pod, from an action on until none is under way.
type work struct {
	pod       types.UID
	operation string
	began     time.Time
}

// follow notes when work on a pod begins, and when it has ended.
func (h hands) follow(t *Tracked) {
	if h.Counts == nil {
		return
	}
	next, busy := work{t.Slot().Pod.UID(), operationOf(t), h.Act.Clock()}, len(t.cancels) > 0
	if w, working := h.working[t.Key]; working && busy && w.pod == next.pod && (w.operation == kills) == (next.operation == kills) {
		return
	}
	h.ended(t.Key)
	if busy {
		h.working[t.Key] = next
	}
}

func (h hands) ended(key node.Key) {
	if w, working := h.working[key]; working {
		delete(h.working, key)
		h.Counts.Worked(w.operation, h.Act.Clock().Sub(w.began))
	}
}

const kills = "kill"

// operationOf says in Kubernetes' words what is done for a pod.
func operationOf(t *Tracked) string {
	switch {
	case t.Slot().Pod.Deletion != nil || t.Slot().Termination != nil:
		return kills
	case t.Got().Empty():
		return "create"
	}
	return "sync"
}
