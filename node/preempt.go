package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kubernetes' words for a pod that has to end for a critical one.
const (
	Preempting       = "Preempting"
	PreemptedMessage = "Preempted in order to admit critical pod"
)

// Life names one pod from its acceptance to its end: a later pod may have the same UID.
type Life struct {
	UID      types.UID `json:"UID"`
	Accepted time.Time `json:"Accepted"`
}

// Life returns the name of the pod's life, which no other pod has had.
func (p *Pod) Life() Life { return Life{p.UID(), p.Accepted} }

// Is reports whether two names are of one life, also when one of them was read back from the
// journal.
func (l Life) Is(other Life) bool { return l.UID == other.UID && l.Accepted.Equal(other.Accepted) }

// Waits reports whether a pod of the slot waits for resources that another pod may give back.
func (s *Slot) Waits() bool {
	return s.Pod.Resize != nil || len(s.Pod.Awaits) > 0 || s.Next != nil && len(s.Next.Awaits) > 0
}
