package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/life"
)

// Reasons to wait besides the faults of actions.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonCrashLoop    = node.CrashLoopBackOff
	reasonHookFailed   = "PostStartHookError"
	reasonRoom         = "WaitingForRoom" // a critical pod's, as a whole
)

// container derives the status of one container from its newest two runs.
func (d *deriver) container(c *corev1.Container) corev1.ContainerStatus {
	run := d.life.Run(c.Name)
	s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, RestartCount: d.slot.Tallies[c.Name].Restarts}
	s.AllocatedResourcesStatus = d.devices(c.Name)
	setMounts(&s, c, run)
	if run == nil {
		s.State.Waiting = d.waiting(c.Name)
		s.Started = new(bool)
		return s
	}
	s.RestartCount = max(s.RestartCount, int32(run.Attempt))
	s.ContainerID, s.ImageID = d.id(run), run.ImageID
	setUser(&s, run)
	d.setResources(&s, run)
	if previous := d.got.Previous(d.pod.UID(), c.Name); life.Known(previous) {
		s.LastTerminationState.Terminated = d.terminated(previous)
	}
	d.setState(&s, run, c)
	started := d.life.Started(c)
	s.Started = &started
	s.Ready = d.life.Ready(c)
	if d.life.RunsOnce(c) {
		s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
	}
	return s
}

// ephemeral derives the status of a container that was added to the running pod.
// Nothing waits for it to start or to be ready.
func (d *deriver) ephemeral(c *corev1.Container) corev1.ContainerStatus {
	s := d.container(c)
	s.Ready, s.Started = false, nil
	switch {
	case s.ContainerID == "" && d.slot.Tallies[c.Name].Begun:
		s.State = corev1.ContainerState{Terminated: node.UnknownEnd()}
	case s.State.Waiting != nil && s.State.Waiting.Reason == reasonInitializing:
		s.State.Waiting.Reason = reasonCreating
	}
	return s
}

func (d *deriver) setState(s *corev1.ContainerStatus, run *node.Container, c *corev1.Container) {
	switch {
	case run.State == node.ContainerRunning && !d.life.Hooked(run, c) && d.pod.Deletion == nil && d.slot.Termination == nil:
		s.State.Waiting = d.hooking(run)
	case run.State == node.ContainerRunning:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(run.StartedAt)}
	case run.State == node.ContainerExited && !run.Inspected:
		d.setEnding(s, run)
	case run.State == node.ContainerExited:
		waiting := d.between(run, c)
		if waiting == nil && d.life.Outlived(run) && !d.life.Over() {
			waiting = d.waiting(run.Name)
		}
		if waiting == nil {
			s.State.Terminated = d.terminated(run)
			return
		}
		s.State.Waiting = waiting
		s.LastTerminationState.Terminated = d.terminated(run)
	default:
		s.State.Waiting = d.waiting(run.Name)
	}
}

// hooking shows a run as waiting until its postStart hook is over: to Kubernetes it does not run
// yet.
func (d *deriver) hooking(run *node.Container) *corev1.ContainerStateWaiting {
	if d.got.HealthOf(run).Failed == node.FailedHook {
		return &corev1.ContainerStateWaiting{Reason: reasonHookFailed}
	}
	return &corev1.ContainerStateWaiting{Reason: reasonCreating, Message: "its postStart hook has not ended"}
}

// setEnding shows a run whose end is not fully known yet. It invents no exit code: a pod that has
// succeeded would look failed for a moment.
func (d *deriver) setEnding(s *corev1.ContainerStatus, run *node.Container) {
	if _, failed := d.got.FaultOf(run.Name); failed { // it could not be started
		s.State.Waiting = d.waiting(run.Name)
		return
	}
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(run.StartedAt)}
}

// between returns what an ended container waits for before its next run. It is nil if no run
// follows, or if it waits for nothing.
func (d *deriver) between(run *node.Container, c *corev1.Container) *corev1.ContainerStateWaiting {
	if d.pod.Deletion != nil || !d.life.Again(run, c) || d.life.Over() {
		return nil
	}
	tally := d.slot.Tallies[run.Name]
	pause := tally.Pause(run.Ran(), d.site.BackoffMax)
	pauses := pause > 0 && tally.Restarts <= int32(run.Attempt) && d.life.Crashed(run, c)
	// A start that has failed is a run that has crashed.
	if fault, ok := d.got.FaultOf(run.Name); ok && (fault.Reason != node.RunContainerError || !pauses) {
		return &corev1.ContainerStateWaiting{Reason: fault.Reason, Message: fault.Message}
	}
	if !pauses {
		return nil
	}
	return &corev1.ContainerStateWaiting{
		Reason: reasonCrashLoop,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			pause, run.Name, d.pod.Object.Name, d.pod.Object.Namespace, d.pod.UID()),
	}
}

// waiting returns why a container has not had its first run.
func (d *deriver) waiting(name string) *corev1.ContainerStateWaiting {
	if fault, ok := d.got.FaultOf(name); ok {
		return &corev1.ContainerStateWaiting{Reason: fault.Reason, Message: fault.Message}
	}
	waiting := &corev1.ContainerStateWaiting{Reason: reasonCreating}
	if len(d.spec.InitContainers) > 0 {
		waiting.Reason = reasonInitializing
	}
	if fault, ok := d.volumeFault(); ok {
		waiting.Message = fault.Message
		if fault.Reason != node.FailedMount { // an image that is a volume could not be pulled
			waiting.Reason = fault.Reason
		}
	}
	return waiting
}

// volumeFault returns why the first missing volume cannot be laid out.
func (d *deriver) volumeFault() (node.Fault, bool) {
	if len(d.got.Faults) == 0 {
		return node.Fault{}, false
	}
	for volume := range node.MountedVolumes(d.spec) {
		if fault, ok := d.got.Faults[node.VolumeTarget(volume.Name)]; ok {
			return fault, true
		}
	}
	return node.Fault{}, false
}

func (d *deriver) id(run *node.Container) string { return d.site.Runtime + "://" + run.ID }

func (d *deriver) terminated(run *node.Container) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{
		ExitCode: run.ExitCode, Reason: run.Reason, Message: run.Message,
		StartedAt: metav1.NewTime(run.StartedAt), FinishedAt: metav1.NewTime(run.FinishedAt),
		ContainerID: d.id(run),
	}
	switch {
	case t.Reason == "" && t.ExitCode == 0:
		t.Reason = "Completed"
	case t.Reason == "":
		t.Reason = "Error"
	}
	return t
}
