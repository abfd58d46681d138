package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/limit"
)

// Mark orders observations and effects on the agent's own logical clock. An
// observation is marked before it begins, an effect when it ends, so an
// observation with a greater mark has seen the effect.
type Mark uint64

// Observed holds everything known about a key's machine side. The reconciler replaces
// it as a whole; readers never see it change.
type Observed struct {
	Mark       Mark
	Sandboxes  []Sandbox         // newest attempt first
	Containers []Container       // newest attempt first
	Lost       []Container       // runs that vanished; the newest of each container
	Images     map[string]Image  // by container
	Readied    map[string]uint32 // by container, the attempt for which its devices are ready
	Faults     map[string]Fault  // by action target
	Health     map[string]Health // by container, of its newest run
	Laid       [facilities]Laid  // by facility
	Devices    []DeviceHealth    // of the pod
	Behind     []Unready         // pods that have to be ready before the next sandbox of this one is made
}

// SandboxState is a pod sandbox's state as CRI reports it.
type SandboxState uint8

const (
	SandboxNotReady SandboxState = iota
	SandboxReady
)

// Sandbox is one pod sandbox in the runtime.
type Sandbox struct {
	ID        string
	UID       types.UID
	Attempt   uint32
	State     SandboxState
	CreatedAt time.Time
	IPs       []string
	Inspected bool // IPs are known
	Stopped   bool // we have stopped it, so its network is released
}

// ContainerState is a container's state as CRI reports it.
type ContainerState uint8

const (
	ContainerUnknown ContainerState = iota
	ContainerCreated
	ContainerRunning
	ContainerExited
)

func (s ContainerState) String() string {
	return [...]string{"unknown", "created", "running", "exited"}[s]
}

// Container is one run of a container in the runtime.
type Container struct {
	ID         string                     `json:"ID"`
	SandboxID  string                     `json:"SandboxID"`
	UID        types.UID                  `json:"UID"`
	Name       string                     `json:"Name"`
	Attempt    uint32                     `json:"Attempt"`
	State      ContainerState             `json:"State"`
	Hash       string                     `json:"Hash"`  // of the spec that it was made from
	Image      string                     `json:"Image"` // as the spec names it
	ImageID    string                     `json:"ImageID"`
	CreatedAt  time.Time                  `json:"CreatedAt"`
	StartedAt  time.Time                  `json:"StartedAt"`
	FinishedAt time.Time                  `json:"FinishedAt"`
	ExitCode   int32                      `json:"ExitCode"`
	Reason     string                     `json:"Reason"`
	Message    string                     `json:"Message"`
	LogPath    string                     `json:"LogPath"`
	Grace      time.Duration              `json:"Grace"`            // that its pod allowed it; kept for orphans
	Hooked     *corev1.Container          `json:"Hooked"`           // its preStop hook and ports, kept for orphans; may be nil
	Limits     *limit.Limits              `json:"Limits"`           // that this agent last gave it; nil if it gave none
	Guard      string                     `json:"Guard,omitempty"`  // of its memory, as the runtime reports it; see limit.Limits.Guard
	User       *corev1.LinuxContainerUser `json:"User"`             // that it was started as; nil if the runtime does not report it
	StopSignal corev1.Signal              `json:"StopSignal"`       // that it is asked to stop with; empty if the runtime does not report it
	Mounts     *Mounts                    `json:"Mounts,omitempty"` // of volumes, as far as the runtime decides about them; nil if nothing is special
	Hooks      Hooks                      `json:"Hooks"`            // what this agent has done about them
	Inspected  bool                       `json:"Inspected"`        // the fields that only a status call returns belong to State
}

// Mounts says how the runtime has mounted the volumes of a container.
type Mounts struct {
	Deep []string `json:"Deep"` // paths that are mounted read-only with all below them
}

// Alive reports whether a container has a process, or may have one.
func (c *Container) Alive() bool {
	return c.State == ContainerRunning || c.State == ContainerUnknown
}

// Ran returns the duration of the container's run.
func (c *Container) Ran() time.Duration {
	if c.StartedAt.IsZero() || c.FinishedAt.Before(c.StartedAt) {
		return 0
	}
	return c.FinishedAt.Sub(c.StartedAt)
}

// Image is the image that EnsureImage found for one attempt of a container.
type Image struct {
	Ref     string
	ID      string
	Attempt uint32
}

// Fault is the standing failure of one action target.
type Fault struct {
	Reason  string // Kubernetes' word: ErrImagePull, CreateContainerError, ...
	Message string
	Count   int32
	At      time.Time
	Retry   time.Time
}

// Clone returns a copy whose slices and maps may be written.
func (o *Observed) Clone() *Observed {
	if o == nil {
		return &Observed{}
	}
	c := *o
	c.Sandboxes = slices.Clone(o.Sandboxes)
	c.Containers = slices.Clone(o.Containers)
	c.Lost = slices.Clone(o.Lost)
	c.Images = maps.Clone(o.Images)
	c.Readied = maps.Clone(o.Readied)
	c.Faults = maps.Clone(o.Faults)
	c.Health = maps.Clone(o.Health)
	return &c
}

// Newest returns the newest run of the named container of one pod, or nil. It may be one that
// vanished. A container that was only created does not count beside a run that is alive: a call
// given up long ago may still create one.
func (o *Observed) Newest(uid types.UID, name string) *Container {
	newest := o.newest(uid, name, func(*Container) bool { return true })
	if newest != nil && newest.State == ContainerCreated {
		return cmp.Or(o.newest(uid, name, (*Container).Alive), newest)
	}
	return newest
}

// Previous returns the run before the newest one, or nil.
func (o *Observed) Previous(uid types.UID, name string) *Container {
	newest := o.Newest(uid, name)
	return o.newest(uid, name, func(c *Container) bool { return c != newest && c.Attempt <= newest.Attempt })
}

func (o *Observed) newest(uid types.UID, name string, counts func(*Container) bool) *Container {
	var newest *Container
	for _, list := range [][]Container{o.Containers, o.Lost} {
		for i := range list {
			c := &list[i]
			if c.UID == uid && c.Name == name && (newest == nil || c.Attempt > newest.Attempt) && counts(c) {
				newest = c
			}
		}
	}
	return newest
}

// FaultOf returns the fault of a container's image or devices, or else of the last try to make or start it.
func (o *Observed) FaultOf(container string) (Fault, bool) {
	for _, target := range []string{ImageTarget(container), DevicesTarget(container)} {
		if f, ok := o.Faults[target]; ok {
			return f, true
		}
	}
	f, ok := o.Faults[ContainerTarget(container)]
	return f, ok
}

// NewestSandbox returns the newest sandbox of one pod, or nil.
func (o *Observed) NewestSandbox(uid types.UID) *Sandbox {
	for i := range o.Sandboxes {
		if s := &o.Sandboxes[i]; s.UID == uid {
			return s
		}
	}
	return nil
}

// Home returns the ready sandbox in which a pod lives: the newest, unless containers run in an
// older one. A call that was given up may make a newer sandbox at any time; running containers do
// not move for that.
func (o *Observed) Home(uid types.UID) *Sandbox {
	inhabited := map[string]bool{}
	for i := range o.Containers {
		if c := &o.Containers[i]; c.Alive() {
			inhabited[c.SandboxID] = true
		}
	}
	var home *Sandbox
	for i := range o.Sandboxes {
		s := &o.Sandboxes[i]
		if s.UID != uid || s.State != SandboxReady {
			continue
		}
		if inhabited[s.ID] {
			return s
		}
		if home == nil {
			home = s
		}
	}
	return home
}

// Runs reports whether a pod has a ready sandbox or a live container.
func (o *Observed) Runs(uid types.UID) bool {
	return o.Home(uid) != nil || slices.ContainsFunc(o.Containers, func(c Container) bool { return c.UID == uid && c.Alive() })
}

// Since returns when the runtime made the oldest sandbox or container that it shows of a pod.
func (o *Observed) Since(uid types.UID) (since time.Time) {
	for i := range o.Sandboxes {
		if s := &o.Sandboxes[i]; s.UID == uid && (since.IsZero() || s.CreatedAt.Before(since)) {
			since = s.CreatedAt
		}
	}
	for i := range o.Containers {
		if c := &o.Containers[i]; c.UID == uid && (since.IsZero() || c.CreatedAt.Before(since)) {
			since = c.CreatedAt
		}
	}
	return since
}

// Empty reports whether the runtime has no sandbox and no container of the key.
func (o *Observed) Empty() bool {
	return o == nil || len(o.Sandboxes) == 0 && len(o.Containers) == 0
}
