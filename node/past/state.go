package past

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// State is a pod from a revision on, until its next state.
type State struct {
	Revision int64
	At       time.Time
	Key      node.Key
	Gone     bool // nothing is left of the pod
	Pod      *node.Pod
	Status   corev1.PodStatus
}

// Slot returns the state as a slot whose status is final: a reader shows it without deriving anything.
func (s *State) Slot() *node.Slot { return &node.Slot{Pod: s.Pod, Result: &s.Status} }

// fixed is the part of a pod that stays the same as long as its manifest does.
type fixed struct {
	Object   *corev1.Pod `json:"Object"`
	Source   node.Source `json:"Source"`
	Accepted time.Time   `json:"Accepted"`
}

// moving is the part of a pod that changes.
type moving struct {
	Deletion *node.Deletion   `json:"Deletion,omitempty"`
	Status   corev1.PodStatus `json:"Status"`
}
