package node

import (
	"reflect"
	"time"
)

// About is an action's description of itself: which run it concerns, where its effect happens
// and how long that may take. Code that treats actions by these asks for them and keeps no
// list of actions.
type About struct {
	Container string // empty if it concerns the pod as a whole
	ID        string // of the sandbox or the container that it works on
	Attempt   uint32 // of the run or the sandbox, if Numbered
	Numbered  bool
	Place     Place
	Nature    Nature
	Ends      bool // what runs under ID may end by it
	Rest      Rest
}

// Rest bounds the pauses after which an action that failed is tried again. The zero value leaves that to the
// reconciler.
type Rest struct{ First, Longest time.Duration }

// Place says where an action has its effect. The zero value is invalid.
type Place uint8

const (
	InJournal Place = iota + 1 // in the node's own records
	OnMachine                  // in the node's own files and cgroups
	InRuntime                  // in the container runtime
)

// Nature says how an action behaves in time. The zero value is invalid.
type Nature uint8

const (
	Quick Nature = iota + 1
	Looks        // changes nothing, and is as quick
	// Slow may take long: a pull, a stop within a grace period, a hook, or a volume with
	// a million files. What else the pod needs goes on beside it.
	Slow
	// From here on the runtime makes something, which costs the machine so much that only
	// some of them happen at once. The last one is the most urgent: its pod is the closest
	// to running.
	MakesSandbox
	MakesContainer
	StartsContainer
)

// Makes reports whether the machine does only some of the actions of this nature at once.
func (n Nature) Makes() bool { return n >= MakesSandbox }

// KindOf returns the name of an action's kind: CreateContainer, SetUpVolume.
func KindOf(a Action) string {
	if named, ok := a.(interface{ Kind() string }); ok {
		return named.Kind()
	}
	return reflect.TypeOf(a).Name()
}

// AttemptIn returns the attempt that an action concerns: its own number, or that of the
// run that it works on.
func (a About) AttemptIn(got *Observed) (attempt uint32, ok bool) {
	if a.Numbered || got == nil {
		return a.Attempt, a.Numbered
	}
	for i := range got.Containers {
		if c := &got.Containers[i]; c.ID == a.ID {
			return c.Attempt, true
		}
	}
	return 0, false
}

func (a RunSandbox) About() About {
	return About{Attempt: a.Attempt, Numbered: true, Place: InRuntime, Nature: MakesSandbox}
}
func (a InspectSandbox) About() About {
	return About{ID: a.ID, Place: InRuntime, Nature: Looks}
}
func (a StopSandbox) About() About {
	return About{ID: a.ID, Place: InRuntime, Nature: Quick, Ends: true}
}
func (a ResizeSandbox) About() About {
	return About{ID: a.ID, Place: InRuntime, Nature: Quick}
}
func (a RemoveSandbox) About() About {
	return About{ID: a.ID, Place: InRuntime, Nature: Quick, Ends: true}
}

// About has a pull that failed rest as long as upstream has it.
func (a EnsureImage) About() About {
	return About{
		Container: a.Container, Attempt: a.Attempt, Numbered: a.Container != "", Place: InRuntime, Nature: Slow,
		Rest: Rest{10 * time.Second, 300 * time.Second},
	}
}
func (a CreateContainer) About() About {
	return About{
		Container: a.Container, Attempt: a.Attempt, Numbered: true, Place: InRuntime, Nature: MakesContainer,
	}
}
func (a StartContainer) About() About {
	return About{Container: a.Container, ID: a.ID, Place: InRuntime, Nature: StartsContainer}
}
func (a ResizeContainer) About() About {
	return About{Container: a.Container, ID: a.ID, Place: InRuntime, Nature: Quick}
}
func (a InspectContainer) About() About {
	return About{Container: a.Container, ID: a.ID, Place: InRuntime, Nature: Looks}
}

// About says that a preStop hook may end the run: it may close the application's doors.
func (a RunHook) About() About {
	return About{Container: a.Container, ID: a.ID, Place: InRuntime, Nature: Slow, Ends: a.Kind == PreStop}
}
func (a StopContainer) About() About {
	return About{Container: a.Container, ID: a.ID, Place: InRuntime, Nature: Slow, Ends: true}
}
func (a RemoveContainer) About() About {
	return About{
		Container: a.Container, ID: a.ID, Attempt: a.Attempt, Numbered: true, Place: InRuntime, Nature: Quick, Ends: true,
	}
}

func (a SetTally) About() About {
	return About{Container: a.Container, Place: InJournal, Nature: Quick}
}
func (a SetHealth) About() About {
	return About{Container: a.Container, ID: a.Health.ID, Place: InJournal, Nature: Quick}
}
func (a AskRestart) About() About {
	return About{Container: a.Container, Attempt: a.Attempt, Numbered: true, Place: InJournal, Nature: Quick}
}
func (a StartOver) About() About {
	return About{Container: a.Container, Place: InJournal, Nature: Quick}
}
func (SetLost) About() About        { return About{Place: InJournal, Nature: Quick} }
func (SetTermination) About() About { return About{Place: InJournal, Nature: Quick} }
func (SetHalted) About() About      { return About{Place: InJournal, Nature: Quick} }
func (SetResult) About() About      { return About{Place: InJournal, Nature: Quick} }
func (Release) About() About        { return About{Place: InJournal, Nature: Quick} }
