package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Event is one thing that happened, on the node or to a pod.
type Event struct {
	Revision  int64
	Time      time.Time // of the last occurrence
	First     time.Time
	Count     int32 // occurrences; an event that is added with none counts as one
	Warning   bool
	Reason    string // one word: Pulled, Created, Started, BackOff, ...
	Message   string
	Key       Key // zero for events of the node or of a source
	UID       types.UID
	Container string
	Took      time.Duration // of the step that the event ends
}

// Same reports whether two events differ in nothing but their time.
func (e *Event) Same(o *Event) bool {
	return e.Key == o.Key && e.UID == o.UID && e.Container == o.Container &&
		e.Reason == o.Reason && e.Message == o.Message && e.Warning == o.Warning
}
