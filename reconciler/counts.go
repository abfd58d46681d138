package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Counts counts for metrics where events are not enough. Its methods return at once.
type Counts interface {
	// Taken counts a pod that is new to the node, whether the node runs it or not.
	Taken(*node.Pod)
	// Changed counts a change of a pod that the node has had before. freed says what has made room for a pod that had
	// waited for resources.
	Changed(before, now *node.Pod, freed string)
	// Did counts an action that has ended.
	Did(pod *node.Pod, got *node.Observed, a node.Action, took time.Duration, err error)
	// Resized counts a resize that was made, and a resize that fails, once.
	Resized(took time.Duration, made bool)
	// Worked counts a pod for which nothing is left to do for now.
	Worked(operation string, took time.Duration)
	// Relisted counts a look at the whole runtime.
	Relisted(began time.Time, took time.Duration, err error)
	// Listened counts a stream of the runtime's events that has opened, or one that failed to.
	Listened(err error)
}

// uncounted is a Counts that counts nothing.
type uncounted struct{}

var _ Counts = uncounted{}

func (uncounted) Taken(*node.Pod)                  {}
func (uncounted) Changed(_, _ *node.Pod, _ string) {}
func (uncounted) Resized(time.Duration, bool)      {}
func (uncounted) Did(*node.Pod, *node.Observed, node.Action, time.Duration, error) {
}
func (uncounted) Worked(string, time.Duration)             {}
func (uncounted) Relisted(time.Time, time.Duration, error) {}
func (uncounted) Listened(error)                           {}

// work measures how long a pod is worked on: from its first action until none is under way.
type work struct {
	pod       types.UID
	operation string
	began     time.Time
}

// follow notes when work on a pod begins, and when it has ended.
func (h hands) follow(t *Tracked) {
	next, busy := work{t.Slot().Pod.UID(), operationOf(t), h.Act.Clock()}, len(t.cancels) > 0
	w, working := h.working[t.Key]
	if working && busy && w.pod == next.pod && (w.operation == kills) == (next.operation == kills) {
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

// operationOf returns Kubernetes' word for the work on a pod.
func operationOf(t *Tracked) string {
	switch {
	case t.Slot().Pod.Deletion != nil || t.Slot().Termination != nil:
		return kills
	case t.Got().Empty():
		return "create"
	}
	return "sync"
}
