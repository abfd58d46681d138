package node

import (
	"fmt"
	"strings"
	"time"
)

// An action whose beginning is news has a method Announce, and one whose success is news
// has a method Report. Both return false if it is not news this time.

// The messages begin as those of every kubelet: people and tools search for them.

// Announce reports the beginning of a preStop hook.
func (a RunHook) Announce() (Event, bool) {
	return killing(a.Container, a.Reason, "after its preStop hook"), a.Kind == PreStop
}

// Announce reports that a container is asked to end.
func (a StopContainer) Announce() (Event, bool) {
	return killing(a.Container, a.Reason, "within "+a.Grace.Round(time.Second).String()), true
}

// killing tells why a container is stopped. Some reasons are whole messages.
func killing(container, reason, how string) Event {
	message := fmt.Sprintf("Stopping container %s %s: %s", container, how, reason)
	if strings.HasPrefix(reason, "Container ") {
		message = fmt.Sprintf("%s (%s)", reason, how)
	}
	return Event{Reason: "Killing", Container: container, Message: message}
}

// Announce reports that another sandbox takes the place of one that is lost.
func (a RunSandbox) Announce() (Event, bool) {
	return Event{Reason: "SandboxChanged", Message: "Pod sandbox changed, it will be killed and re-created."}, a.Attempt > 0
}

// Report names the sandbox.
func (RunSandbox) Report(r Result) (Event, bool) {
	return Event{Reason: "SandboxCreated", Message: "created the pod's sandbox " + r.ID}, true
}

// Report names the sandbox.
func (a RemoveSandbox) Report(Result) (Event, bool) {
	return Event{Reason: "SandboxRemoved", Message: "removed the pod's sandbox " + a.ID}, true
}

// Report names the container, and its attempt from the second on.
func (a CreateContainer) Report(Result) (Event, bool) {
	message := "Container created"
	if a.Attempt > 0 {
		message += fmt.Sprintf(", attempt %d", a.Attempt)
	}
	return Event{Reason: "Created", Container: a.Container, Message: message}, true
}

// Report names the container.
func (a StartContainer) Report(Result) (Event, bool) {
	return Event{Reason: "Started", Container: a.Container, Message: "Container started"}, true
}

// Report names the container's new limits.
func (a ResizeContainer) Report(Result) (Event, bool) {
	message := fmt.Sprintf("container %s now has %s", a.Container, a.Limits)
	return Event{Reason: "Resized", Container: a.Container, Message: message}, true
}

// Report says how the run ended, if it has ended.
func (a InspectContainer) Report(r Result) (Event, bool) {
	c := r.Container
	if c == nil || c.State != ContainerExited {
		return Event{}, false
	}
	e := Event{
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

// Report counts the restart. The first start of an ephemeral container is none.
func (a SetTally) Report(Result) (Event, bool) {
	message := fmt.Sprintf("restart %d of container %s", a.Tally.Restarts, a.Container)
	return Event{Reason: "Restarting", Container: a.Container, Message: message}, !a.Tally.Begun
}

// Report names the container whose end restarts all containers.
func (a StartOver) Report(Result) (Event, bool) {
	message := "container " + a.Container + " has ended so that all containers of the pod restart"
	return Event{Reason: "RestartingAllContainers", Container: a.Container, Message: message}, true
}

// Report says why the node ends the pod.
func (a SetTermination) Report(Result) (Event, bool) {
	return Event{Reason: a.Termination.Reason, Message: a.Termination.Message}, true
}

// Report says that the pod has ended for now.
func (SetHalted) Report(Result) (Event, bool) {
	return Event{Reason: "Halted", Message: "all containers have ended; they run again once the machine is back"}, true
}

// Report names the pod's final phase.
func (a SetResult) Report(Result) (Event, bool) {
	return Event{Reason: string(a.Status.Phase), Message: "all containers have ended"}, true
}

// Report says that the pod is gone.
func (Release) Report(Result) (Event, bool) {
	return Event{Reason: "Removed", Message: "removed all of the pod from the node"}, true
}
