package reconciler

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// tellRefused tells of a new pod that the node refused.
func (r *Reconciler) tellRefused(pod *node.Pod) {
	if pod.Refused == nil {
		return
	}
	r.Events.Add(node.Event{
		Key: pod.Key(), UID: pod.UID(), Time: r.Act.Clock(), Warning: true, Reason: pod.Refused.Reason, Message: pod.Refused.Message,
	})
}

// tellReady records the moment a pod becomes ready, or stops being so.
func (r *Reconciler) tellReady(t *Tracked) {
	s := status.Of(r.Site, t.Slot(), t.Got())
	ready, since := false, time.Time{}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			ready, since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	if ready && !r.wasReady[t.Key] && since.After(r.began) { // what was adopted was ready before
		pod := t.Slot().Pod
		r.tell(pod, node.Event{Reason: "Ready", Message: "all containers are ready", Took: r.Act.Clock().Sub(pod.Accepted)})
		if r.Tracer != nil {
			r.Tracer.Ready(pod)
		}
	}
	r.wasReady[t.Key] = ready
}

// announce tells that an action begins, where that alone is news.
func announce(a node.Action) (node.Event, bool) {
	switch a := a.(type) {
	case node.RunHook:
		return node.Event{Reason: "Killing", Container: a.Container, Message: fmt.Sprintf("running the preStop hook of container %s: %s", a.Container, a.Reason)}, a.Kind == node.PreStop
	case node.StopContainer:
		return node.Event{Reason: "Killing", Container: a.Container, Message: fmt.Sprintf("stopping container %s within %s: %s", a.Container, a.Grace.Round(time.Second), a.Reason)}, true
	}
	return node.Event{}, false
}

// report tells how an action ended, where people want to know.
func report(o Outcome) (node.Event, bool) {
	if o.Err != nil {
		return reportFailure(o)
	}
	switch a := o.Action.(type) {
	case node.RunSandbox:
		return node.Event{Reason: "SandboxCreated", Message: "created the pod's sandbox " + o.Result.ID}, true
	case node.CreateContainer:
		return node.Event{Reason: "Created", Container: a.Container, Message: fmt.Sprintf("created container %s, attempt %d", a.Container, a.Attempt)}, true
	case node.StartContainer:
		return node.Event{Reason: "Started", Container: a.Container, Message: "started container " + a.Container}, true
	case node.ResizeContainer:
		return node.Event{Reason: "Resized", Container: a.Container, Message: fmt.Sprintf("container %s now has %s", a.Container, a.Limits)}, true
	case node.InspectContainer:
		return reportExit(a, o.Result.Container)
	case node.SetTally:
		return node.Event{Reason: "Restarting", Container: a.Container, Message: fmt.Sprintf("restart %d of container %s", a.Tally.Restarts, a.Container)}, !a.Tally.Begun
	case node.StartOver:
		return node.Event{Reason: "RestartingAllContainers", Container: a.Container, Message: "container " + a.Container + " has ended so that all containers of the pod restart"}, true
	case node.SetTermination:
		return node.Event{Reason: a.Termination.Reason, Message: a.Termination.Message}, true
	case node.SetResult:
		return node.Event{Reason: string(a.Status.Phase), Message: "all containers have ended"}, true
	case node.RemoveSandbox:
		return node.Event{Reason: "SandboxRemoved", Message: "removed the pod's sandbox " + a.ID}, true
	case node.Release:
		return node.Event{Reason: "Removed", Message: "nothing of the pod is left on the node"}, true
	}
	return node.Event{}, false
}

func reportExit(a node.InspectContainer, c *node.Container) (node.Event, bool) {
	if c == nil || c.State != node.ContainerExited {
		return node.Event{}, false
	}
	e := node.Event{
		Reason: "Exited", Container: a.Container, Warning: c.ExitCode != 0, Took: c.Ran(),
		Message: fmt.Sprintf("container %s, attempt %d, ended with exit code %d", a.Container, c.Attempt, c.ExitCode),
	}
	if c.Reason != "" && c.Reason != "Completed" && c.Reason != "Error" {
		e.Message += ": " + c.Reason
	}
	if c.Message != "" {
		e.Message += ": " + c.Message
	}
	return e, true
}

func reportFailure(o Outcome) (node.Event, bool) {
	if errors.Is(o.Err, context.Canceled) || errors.Is(o.Err, node.ErrNotFound) {
		return node.Event{}, false
	}
	if _, ok := o.Action.(node.EnsureImage); ok { // whoever pulls tells more than one event of it
		return node.Event{}, false
	}
	e := node.Event{Reason: "Failed", Warning: true, Message: o.Err.Error(), Container: containerOf(o.Action)}
	if failure := failureOf(o.Err); failure != nil {
		switch failure.Reason {
		case node.FailedCreateSandbox, node.NetworkNotReady, node.FailedCreateCgroup, node.FailedKill, node.FailedMount, node.FailedUnmount,
			node.FailedPostStart, node.FailedPreStop: // Kubernetes' own events
			e.Reason = failure.Reason
		default:
			e.Message = failure.Reason + ": " + e.Message
		}
	}
	return e, true
}

func containerOf(a node.Action) string {
	switch a := a.(type) {
	case node.CreateContainer:
		return a.Container
	case node.StartContainer:
		return a.Container
	case node.RunHook:
		return a.Container
	case node.StopContainer:
		return a.Container
	case node.ResizeContainer:
		return a.Container
	case node.InspectContainer:
		return a.Container
	case node.RemoveContainer:
		return a.Container
	}
	return ""
}
