package node

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/limit"
)

// Action is one thing to do for a pod: plain data, one call, safe to repeat.
type Action interface {
	// Target names what it works on; two actions on one target never overlap.
	Target() string
	// About describes the action apart from its effect.
	About() About
	String() string
}

// Result is the reply to a successful action; most replies carry no more than that it
// happened.
type Result struct {
	ID        string     // of what was made, or of the image
	At        time.Time  // when the reply arrived
	Sandbox   *Sandbox   // from InspectSandbox
	Container *Container // from InspectContainer, and from StartContainer where it could be looked at
}

const (
	targetSandbox = "sandbox"
	targetPod     = "pod"
)

// ImageTarget and ContainerTarget name the targets under which the faults of those actions are kept.
func ImageTarget(container string) string     { return "image/" + container }
func ContainerTarget(container string) string { return "container/" + container }

// ResizeTarget names the target of giving a container other limits.
func ResizeTarget(container string) string { return "resize/" + container }

// VolumeTarget names the target of laying out a volume.
func VolumeTarget(name string) string { return Volumes.PartTarget(name) }

// CgroupTarget names the target of making the pod's cgroup.
func CgroupTarget() string { return Cgroup.PartTarget("") }

// SandboxTarget names the target of sandbox actions.
func SandboxTarget() string { return targetSandbox }

type (
	// RunSandbox makes and starts the pod's sandbox.
	RunSandbox struct{ Attempt uint32 }
	// InspectSandbox learns the sandbox's addresses.
	InspectSandbox struct{ ID string }
	// StopSandbox ends the sandbox and whatever runs in it.
	StopSandbox struct{ ID string }
	// ResizeSandbox tells the runtime which limits a resized pod has as a whole. They hold without that: for a runtime
	// that keeps pods in machines of their own, this is the size of the machine.
	ResizeSandbox struct {
		ID     string
		Limits limit.Limits
	}
	// RemoveSandbox removes a stopped sandbox and its containers.
	RemoveSandbox struct{ ID string }

	// EnsureImage has the image of a container, or of a volume, on the machine.
	EnsureImage struct {
		Container string
		Volume    string
		Attempt   uint32
		Ref       string
		Policy    corev1.PullPolicy
	}

	// CreateContainer makes a container in the sandbox.
	CreateContainer struct {
		Container string
		Attempt   uint32
		SandboxID string
		Image     string // as the spec names it
		ImageID   string
		Hash      string // of the spec that it is made from
		Limits    limit.Limits
		Joins     string // the running container whose processes it sees; empty if only its own
	}
	// ResizeContainer gives a running container other limits.
	ResizeContainer struct {
		Container string
		ID        string
		Limits    limit.Limits
	}
	// StartContainer starts a created container.
	StartContainer struct{ Container, ID string }
	// InspectContainer learns times, image and exit code.
	InspectContainer struct{ Container, ID string }
	// StopContainer asks a container to end and kills it after the grace period.
	StopContainer struct {
		Container string
		ID        string
		Grace     time.Duration
		Reason    string
	}
	// RemoveContainer removes a container that does not run, and its log.
	RemoveContainer struct {
		Container string
		ID        string
		UID       types.UID // of the pod it was made for
		Attempt   uint32
	}

	// SetTally journals a container's restart before it happens.
	SetTally struct {
		Container string
		Tally     Tally
	}
	// SetHealth journals what a container's probes have shown.
	SetHealth struct {
		Container string
		Health    Health
	}
	// SetLost journals which runs vanished.
	SetLost struct{ Lost []Container }
	// AskRestart journals that a container's run ends and another begins.
	AskRestart struct {
		Container string
		Attempt   uint32
	}
	// StartOver journals that all containers of the pod start over.
	StartOver struct {
		Container string    // that has the rule
		Restarts  []Restart // the runs that have to end
	}
	// SetTermination journals that the pod has to end, before any of it does.
	SetTermination struct{ Termination Termination }
	// SetHalted journals that nothing of a pod runs any more that returns after a shutdown.
	SetHalted struct{}
	// SetResult journals a pod's final status.
	SetResult struct{ Status *corev1.PodStatus }
	// Release forgets a pod whose teardown is complete; Next takes over.
	Release struct{}
)

func (RunSandbox) Target() string         { return targetSandbox }
func (a InspectSandbox) Target() string   { return "inspect/" + a.ID }
func (a StopSandbox) Target() string      { return "sandbox/" + a.ID }
func (a RemoveSandbox) Target() string    { return "sandbox/" + a.ID }
func (a CreateContainer) Target() string  { return ContainerTarget(a.Container) }
func (a StartContainer) Target() string   { return ContainerTarget(a.Container) }
func (ResizeSandbox) Target() string      { return targetSandbox }
func (a ResizeContainer) Target() string  { return ResizeTarget(a.Container) }
func (a InspectContainer) Target() string { return "inspect/" + a.ID }
func (a StopContainer) Target() string    { return "stop/" + a.ID }
func (a RemoveContainer) Target() string  { return "remove/" + a.ID }
func (a SetTally) Target() string         { return ContainerTarget(a.Container) }
func (a SetHealth) Target() string        { return "health/" + a.Container }
func (SetLost) Target() string            { return "lost" }
func (a AskRestart) Target() string       { return "ask/" + a.Container }
func (StartOver) Target() string          { return targetPod }
func (SetTermination) Target() string     { return targetPod }
func (SetHalted) Target() string          { return targetPod }
func (SetResult) Target() string          { return targetPod }
func (Release) Target() string            { return targetPod }

// Target names the container or the volume that needs the image. A volume that is an image is not
// laid out before it is there.
func (a EnsureImage) Target() string {
	if a.Volume != "" {
		return VolumeTarget(a.Volume)
	}
	return ImageTarget(a.Container)
}

func (a RunSandbox) String() string     { return fmt.Sprintf("run sandbox attempt=%d", a.Attempt) }
func (a InspectSandbox) String() string { return "inspect sandbox " + a.ID }
func (a StopSandbox) String() string    { return "stop sandbox " + a.ID }
func (a RemoveSandbox) String() string  { return "remove sandbox " + a.ID }
func (a EnsureImage) String() string {
	if a.Volume != "" {
		return fmt.Sprintf("ensure image %s for volume %s policy=%s", a.Ref, a.Volume, a.Policy)
	}
	return fmt.Sprintf("ensure image %s for %s attempt=%d policy=%s", a.Ref, a.Container, a.Attempt, a.Policy)
}
func (a CreateContainer) String() string {
	text := fmt.Sprintf("create %s attempt=%d in %s", a.Container, a.Attempt, a.SandboxID)
	if a.Joins != "" {
		text += " joining " + a.Joins
	}
	return text
}
func (a StartContainer) String() string { return fmt.Sprintf("start %s %s", a.Container, a.ID) }
func (a ResizeSandbox) String() string  { return fmt.Sprintf("resize sandbox %s to %s", a.ID, a.Limits) }

func (a ResizeContainer) String() string {
	return fmt.Sprintf("resize %s %s to %s", a.Container, a.ID, a.Limits)
}
func (a InspectContainer) String() string { return fmt.Sprintf("inspect %s %s", a.Container, a.ID) }
func (a StopContainer) String() string {
	return fmt.Sprintf("stop %s %s grace=%s: %s", a.Container, a.ID, a.Grace, a.Reason)
}
func (a RemoveContainer) String() string { return fmt.Sprintf("remove %s %s", a.Container, a.ID) }
func (a SetTally) String() string {
	return fmt.Sprintf("tally %s restarts=%d streak=%d", a.Container, a.Tally.Restarts, a.Tally.Streak)
}
func (a SetHealth) String() string { return fmt.Sprintf("note %s is %s", a.Container, a.Health) }
func (a SetLost) String() string {
	var runs []string
	for _, run := range a.Lost {
		runs = append(runs, fmt.Sprintf("%s attempt=%d", run.Name, run.Attempt))
	}
	return "note the loss of " + strings.Join(runs, ", ")
}
func (a AskRestart) String() string {
	return fmt.Sprintf("ask restart of %s attempt=%d", a.Container, a.Attempt)
}
func (a StartOver) String() string      { return "start over after " + a.Container }
func (a SetTermination) String() string { return "terminate: " + a.Termination.Reason }
func (SetHalted) String() string        { return "note that it is halted" }
func (a SetResult) String() string      { return "settle " + string(a.Status.Phase) }
func (Release) String() string          { return "release" }
