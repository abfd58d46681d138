package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HookKind tells the hooks of a container apart.
type HookKind string

const (
	PostStart HookKind = "postStart" // beside the first moments of a run
	PreStop   HookKind = "preStop"   // before a run is asked to end
)

// Kubernetes' words for a hook that has failed.
const (
	FailedPostStart = "FailedPostStartHook"
	FailedPreStop   = "FailedPreStopHook"
)

// RunHook runs a hook of one run of a container to its end. It carries all that this needs.
type RunHook struct {
	Kind        HookKind
	UID         types.UID // of the pod
	Container   string
	ID          string // of the run
	Spec        *corev1.LifecycleHandler
	Ports       []corev1.ContainerPort // that the hook may name
	Address     string                 // of the pod
	HostNetwork bool                   // the pod's loopback is the machine's
	Until       time.Time              // a preStop hook that has not ended by then has failed
	Reason      string                 // why the run is to end
	Again       bool                   // a postStart hook that may have succeeded before
}

// Target differs by hook, so that a postStart hook that hangs does not block the preStop hook.
func (a RunHook) Target() string { return HookTarget(a.Kind, a.ID) }

// HookTarget names the target of a run's hook.
func HookTarget(kind HookKind, id string) string { return string(kind) + "/" + id }

func (a RunHook) String() string {
	text := fmt.Sprintf("run %s hook of %s %s", a.Kind, a.Container, a.ID)
	if a.Again {
		text += " again"
	}
	if !a.Until.IsZero() {
		text += " until " + a.Until.Format("15:04:05") + ": " + a.Reason
	}
	return text
}

// Failure returns the definite failure of the hook.
func (a RunHook) Failure(err error) *Failure {
	reason := FailedPostStart
	if a.Kind == PreStop {
		reason = FailedPreStop
	}
	return &Failure{Reason: reason, Err: fmt.Errorf("run the %s hook of container %s: %w", a.Kind, a.Container, err)}
}

// Hooks records what this agent has done about the hooks of a run. The next agent does not know it.
type Hooks struct {
	Fresh  bool      `json:"Fresh"`  // the run began here, and its postStart hook has not been tried
	Until  time.Time `json:"Until"`  // by when the run ends, once its preStop hook was begun
	Reason string    `json:"Reason"` // why the run ends
	Ended  bool      `json:"Ended"`  // the preStop hook has ended, well or not
}

// HookOf returns a container's hook of a kind, or nil.
func HookOf(c *corev1.Container, kind HookKind) *corev1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case kind == PostStart:
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}
