package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Event is one thing that happened, on the node or to a pod. Its fields have the names of records on the disk.
type Event struct {
	Revision  int64     `json:"Revision"`
	Time      time.Time `json:"Time"` // of the last occurrence
	First     time.Time `json:"First"`
	Count     int32     `json:"Count"` // occurrences; an event that is added with none counts as one
	Warning   bool      `json:"Warning,omitempty"`
	Reason    string    `json:"Reason"` // one word: Pulled, Created, Started, BackOff, ...
	Message   string    `json:"Message,omitempty"`
	Key       Key       `json:"Key,omitzero"` // zero for events of the node or of a source
	UID       types.UID `json:"UID,omitempty"`
	Container string    `json:"Container,omitempty"`

	Took time.Duration `json:"Took,omitempty"` // of the step that the event ends
}

// Same reports whether two events differ in nothing but their time.
func (e *Event) Same(o *Event) bool {
	return e.Key == o.Key && e.UID == o.UID && e.Container == o.Container &&
		e.Reason == o.Reason && e.Message == o.Message && e.Warning == o.Warning
}
