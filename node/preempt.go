package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// What Kubernetes says of a pod that has to end for a critical one.
const (
	Preempting       = "Preempting"
	PreemptedMessage = "Preempted in order to admit critical pod"
)

// Life is one pod from its acceptance on: its UID may come back.
type Life struct {
	UID      types.UID `json:"UID"`
	Accepted time.Time `json:"Accepted"`
}

// Life tells the pod from all others that there are or were.
func (p *Pod) Life() Life { return Life{p.UID(), p.Accepted} }

// Is compares what the journal may have kept.
func (l Life) Is(other Life) bool { return l.UID == other.UID && l.Accepted.Equal(other.Accepted) }

// Waits says whether a pod of the slot waits for what another may give back.
func (s *Slot) Waits() bool {
	return s.Pod.Resize != nil || len(s.Pod.Awaits) > 0 || s.Next != nil && len(s.Next.Awaits) > 0
}
