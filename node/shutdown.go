package node

import "time"

// Kubernetes' words for a node that shuts down.
const (
	Terminated        = "Terminated"
	TerminatedMessage = "Pod was terminated in response to imminent node shutdown."

	NodeShutdown        = "NodeShutdown"
	NodeShutdownMessage = "Pod was rejected as the node is shutting down."

	ShuttingDownMessage = "node is shutting down"
)

// ShutdownPhase is a part of a shutdown. The pods of its priority and above end in it, up to the priority of the next
// phase.
type ShutdownPhase struct {
	Priority int32
	Period   time.Duration
}

// Shutdown says how far a shutdown of the machine has come. The zero value means that there is none.
type Shutdown struct {
	Began    time.Time // zero while the machine stays up
	Cause    string    // what announced it, for readers
	Priority int32     // from which on the pods of the present phase count
	Until    time.Time // when the present phase ends at the latest
	Waits    []Key     // the pods of the phase that still run
	Done     bool      // nothing is waited for any more
}

// ForShutdown reports whether a pod was made to end because the machine shuts down.
func (t *Termination) ForShutdown() bool { return t != nil && t.Reason == Terminated }
