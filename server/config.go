package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/history"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/past"
	"nodal/node/store"
	"nodal/server/audit"
	"nodal/server/auth"
	"nodal/server/dashboard"
	"nodal/server/kubeletapi"
	"nodal/server/metrics"
	"nodal/server/runs"
	"nodal/server/trace"
	"nodal/server/wire"
)

// Config is everything the server depends on.
type Config struct {
	State   State
	Machine Machine
	Facts   Facts
	Debug   Debug
	Front   Front
	Now     func() time.Time
	Log     *slog.Logger // nil stands for slog.Default
}

// State holds what is wanted of the node and what was observed.
type State struct {
	Store         *store.Store
	Events        *store.Events
	Sources       *store.Sources
	Plugins       *store.Plugins // nil shows none
	Devices       *store.Devices // of plugins; nil shows none
	Offers        Offers
	Configuration Configuration // nil shows none
	Intake        intake.Intake // of the API's own pods
	Site          node.Site
}

// Offers reads the node's offer to pods. The server never writes it.
type Offers interface {
	Read() offer.Offer
	Changed() <-chan struct{}
}

// Machine reaches the parts of the agent that work on the machine.
type Machine struct {
	Containers runs.Containers
	Logs       runs.Files
	Images     Images
	Stats      Stats
	Past       Past    // nil if no usage is recorded
	PastPod    PastPod // nil if it is not recorded how pods were
	Vitals     Vitals
	Ranking    Ranking  // nil if no pod is ever evicted
	Shutdown   Shutdown // nil stands for a machine that stays up
	Cordon     Cordon   // nil stands for a node that cannot be cordoned
	Probes     func() []*node.ProbeCount
	Garbage    Garbage
	Running    func(context.Context) (map[node.Key]*node.Observed, error) // the runtime's pods
	Alive      func(context.Context) error                                // returns once the reconciler has turned
	System     SystemLogs                                                 // of the machine
	CSIVolumes func() []node.CSIVolume                                    // that pods use or that are here; nil shows none
	SecretsKey SecretsKey                                                 // nil stands for a node that seals nothing
	Subnets    Subnets                                                    // nil stands for a network that is not the node's
}

// Vitals reads the node's state. The server never writes it.
type Vitals interface {
	// Look returns the runtime's status and the node's conditions, as they were moments ago.
	Look(ctx context.Context) (node.RuntimeStatus, []corev1.NodeCondition)
	// Changed returns a channel that is closed when a look differs from the one before.
	Changed() <-chan struct{}
	// Pressure returns how far the node is from running short, as it was moments ago.
	Pressure(ctx context.Context) health.Pressure
	// Beyond returns the thresholds of eviction that can never hold on this node.
	Beyond() []health.Beyond
}

// Subnets reads the subnets of pods. The server never writes them.
type Subnets interface {
	// Read returns those in use, and those of the cluster that wait until no pod has an address.
	Read() (used, waiting []netip.Prefix)
	Changed() <-chan struct{}
}

// noSubnets stands for a network that is not the node's.
type noSubnets struct{}

func (noSubnets) Read() (used, waiting []netip.Prefix) { return nil, nil }
func (noSubnets) Changed() <-chan struct{}             { return nil }

// Shutdown reads how far a shutdown of the machine has come.
type Shutdown interface {
	State() node.Shutdown
	// Changed returns a channel that is closed when the state differs.
	Changed() <-chan struct{}
}

// staysUp is a machine that never shuts down.
type staysUp struct{}

var _ Shutdown = staysUp{}

func (staysUp) State() node.Shutdown     { return node.Shutdown{} }
func (staysUp) Changed() <-chan struct{} { return nil }

// Cordon keeps whether the node takes new pods.
type Cordon interface {
	State() node.Cordon
	// Changed returns a channel that is closed when the state differs.
	Changed() <-chan struct{}
	Set(reason string) (node.Cordon, error)
	Lift() error
}

// alwaysOpen is a node that cannot be cordoned.
type alwaysOpen struct{}

var _ Cordon = alwaysOpen{}

func (alwaysOpen) State() node.Cordon              { return node.Cordon{} }
func (alwaysOpen) Changed() <-chan struct{}        { return nil }
func (alwaysOpen) Set(string) (node.Cordon, error) { return node.Cordon{}, node.ErrUnsupported }
func (alwaysOpen) Lift() error                     { return node.ErrUnsupported }

// Past returns what was recorded of usage, for each pod of a name. If there is an error, it says what is missing.
type Past func(history.Question) ([]history.Past, error)

// PastPod returns a pod as it was at a revision: gone, or nil if there was none of that name.
type PastPod func(key node.Key, at int64) (*past.State, error)

// Garbage lists what has no use on the machine any more. It returns what it has found even if it fails.
type Garbage func(context.Context) ([]node.Garbage, error)

// Ranking returns the pods that would be evicted for a signal, in their order. An empty signal stands for the one that
// needs attention, which is returned too. An error names the pods that could not be measured.
type Ranking func(ctx context.Context, signal string, p health.Pressure) (of string, all []node.EvictionCandidate, err error)

// Facts describes the agent and its machine, as they were at the start.
type Facts struct {
	Version       string
	Started       time.Time
	Addresses     []string
	KernelVersion string
	OSImage       string
	Architecture  string
	MachineID     string
	BootID        string
	SystemUUID    string
	Endpoint      string // of the runtime
}

// Warning says what is wrong with a setting of the node or of its machine.
type Warning struct{ Setting, Problem, Remedy string }

// Debug holds the parts of the process that an admin may see and change.
type Debug struct {
	Flags      map[string]string // of the command line, without secrets
	Verbosity  Verbosity
	NoProfiles bool // enableProfilingHandler is off
	NoFlags    bool // enableDebugFlagsHandler is off
	NoHandlers bool // enableDebuggingHandlers is off: kubelet paths serve no logs, exec and the like
}

// Verbosity sets how much is logged, counted as --v does.
type Verbosity interface {
	Level() int32
	Set(level int32)
}

// Front holds what every request passes on its way in.
type Front struct {
	Auth     *auth.Authenticator
	Audit    *audit.Log // of the same Auth; nil if nothing is kept
	Requests Requests
	Trace    trace.Trace     // nil disables it
	Reach    dashboard.Reach // where the dashboard is
	Limits   Limits
	// Neighbours are other nodes that the dashboard shows; nil shows none.
	Neighbours Neighbours
	Idle       func() time.Duration // after which a silent exec, attach or port-forward ends; zero or nil: never
}

// Requests counts requests, and writes these counts among the agent's own metrics.
type Requests interface {
	http.Handler
	// Count counts the requests that a handler serves. routed returns the pattern that serves a request.
	Count(server string, routed func(*http.Request) string) func(http.Handler) http.Handler
	// CountResources counts a call of upstream's socket of pod resources.
	CountResources(method string, failed bool)
}

// Limits bound what one request may ask. Zero values are the defaults.
type Limits struct {
	BodyBytes   int           // of a manifest or another body; 4 MiB
	BodyTimeout time.Duration // until a body has arrived; 30 s
	ImportIdle  time.Duration // between two parts of a tarball; 1 min
}

func (l Limits) body() wire.BodyLimits {
	return wire.BodyLimits{Bytes: l.BodyBytes, Timeout: l.BodyTimeout}
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes == 0 {
		l.BodyBytes = 4 << 20
	}
	if l.BodyTimeout == 0 {
		l.BodyTimeout = 30 * time.Second
	}
	if l.ImportIdle == 0 {
		l.ImportIdle = time.Minute
	}
	return l
}

func (cfg Config) withDefaults() Config {
	cfg.Front.Limits = cfg.Front.Limits.withDefaults()
	if cfg.Front.Idle == nil {
		cfg.Front.Idle = func() time.Duration { return 0 }
	}
	if cfg.State.Configuration == nil {
		cfg.State.Configuration = noConfiguration{}
	}
	if cfg.Front.Trace == nil {
		cfg.Front.Trace = trace.Off
	}
	if cfg.Front.Neighbours == nil {
		cfg.Front.Neighbours = noNeighbours{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Machine.Subnets == nil {
		cfg.Machine.Subnets = noSubnets{}
	}
	if cfg.Machine.Shutdown == nil {
		cfg.Machine.Shutdown = staysUp{}
	}
	if cfg.Machine.Cordon == nil {
		cfg.Machine.Cordon = alwaysOpen{}
	}
	if cfg.Machine.SecretsKey == nil {
		cfg.Machine.SecretsKey = noKey{}
	}
	cfg.Machine.Containers = notedContainers{cfg.Machine.Containers}
	return cfg
}

// kubelet returns the needs of the kubelet's own paths.
func (cfg Config) kubelet(pods *podService, logs runs.Logs) kubeletapi.Config {
	m, f, d := cfg.Machine, cfg.Facts, cfg.Debug
	return kubeletapi.Config{
		Pods: kubeletapi.Pods{Objects: pods.objects, Running: m.Running},
		Streams: kubeletapi.Streams{
			Entrance: entrance(cfg.State), Containers: m.Containers, Trace: cfg.Front.Trace, Idle: cfg.Front.Idle,
		},
		Logs: kubeletapi.Logs{Runs: logs, Trace: cfg.Front.Trace, Now: cfg.Now},
		Figures: kubeletapi.Figures{
			Stats: m.Stats, Agent: cfg.Front.Requests, Probes: m.Probes, Log: cfg.Log,
			Machine: kubeletapi.Machine{
				MachineID: f.MachineID, BootID: f.BootID, SystemUUID: f.SystemUUID,
				KernelVersion: f.KernelVersion, OSImage: f.OSImage, Version: f.Version,
			},
		},
		Health: kubeletapi.Health{Alive: m.Alive, Results: metrics.NewHealthChecks()},
		System: kubeletapi.SystemLogs{Files: m.System.Files, Services: m.System.Services, Off: m.System.Off, Query: m.System.Query},
		Process: kubeletapi.Process{
			Version: f.Version, Started: f.Started, Configz: func() []byte { return cfg.State.Configuration.Read().Configz }, Flags: d.Flags, Verbosity: d.Verbosity,
			NoProfiles: d.NoProfiles, NoFlags: d.NoFlags, Now: cfg.Now, Log: cfg.Log,
		},
	}
}
