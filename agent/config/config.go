package config

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/policy"
	"nodal/node/seal"
)

// Config holds every setting that has an effect, resolved and checked, in one struct for each part that takes
// them. The wiring hands a part its struct, or copies from it into the part's own Config.
type Config struct {
	Node     Node
	Dirs     Dirs
	Pods     Pods
	Policy   policy.Policy // what pods may ask of the machine
	Audit    Audit
	Secrets  seal.Source // where the key lives that seals Secrets on the disk
	Runtime  Runtime
	Cgroups  Cgroups
	Reserved Reserved
	Assign   Assign
	Images   Images
	Listen   Listen
	Sources  Sources
	Auth     Auth
	Cluster  Cluster
	Process  Process
	Shutdown Shutdown

	// UsageHistory is the room on the disk for what was used, in bytes. Zero records nothing.
	UsageHistory int64
	// CDI says which devices without a plugin pods can have.
	CDI CDI
	// PodHistory is the room on the disk for how pods were, in bytes. Zero records nothing.
	PodHistory int64

	given given
}

// given is the configuration as files and flags gave it, with the defaults of the rest.
type given struct {
	args         []string          // of the command line
	options      Options           // of files and flags, with all fields, for Configz, Told and Unhonoured
	commandLine  map[string]string // every flag, for Flagz
	flags        kubeletFlags      // the flags that are no field, for Configz
	ignoredFlags []ignoredFlag     // those given
	sources      map[string]string // the file or flag that sets a field, or a flag by its name with dashes
}

// Shutdown holds how pods end when the machine shuts down.
type Shutdown struct {
	Phases    []node.ShutdownPhase // by priority, the lowest first; empty if a shutdown does not wait for pods
	OnSIGTERM bool                 // the agent takes SIGTERM as a shutdown of the machine
}

// Node holds what the node is called, and how it treats its machine.
type Node struct {
	Name     string
	IPs      []netip.Addr // one, or one of each family; empty to detect them
	Labels   map[string]string
	Tunables Tunables
}

// Process holds how the agent's own process runs.
type Process struct {
	LogFormat string // "text" or "json"
	LogSplit  bool   // what is no warning and no error goes to stdout, not to stderr
	Verbosity int
	Files     []FileLevel // of which more is logged, or less; the first one that matches counts
	Tracing   *Tracing    // nil disables it

	OOMScore  int    // by which the kernel chooses what it kills
	OpenFiles uint64 // at most
	Blocks    bool   // waits for locks are recorded

	LockFile         string // is waited for and held; empty disables it
	ExitOnContention bool   // end when another process wants the lock
}

// FileLevel says how much is logged of some source files.
type FileLevel struct {
	Pattern string // for the name of a file without .go, or for its path if it has a slash
	Level   int32
}

// Tracing selects where the agent sends its spans.
type Tracing struct {
	Endpoint   string // of the collector
	PerMillion int32  // share of pods and requests that are traced
}

// Pods holds what pods may do, and what they get by default.
type Pods struct {
	Max            int
	PerCPU         int               // zero means no limit but Max
	IDs            uint32            // users and groups in the user namespace of a pod
	UnsafeSysctls  []string          // sysctls beyond the safe ones that pods may set
	Sysctls        map[string]string // defaults of every pod; a pod's own values win
	SeccompDefault bool              // containers without a profile get the runtime's default
	DNS            DNS
	Logs           Logs           // of containers
	CrashLoopMax   time.Duration  // the longest wait before a restart
	HoldToDisk     bool           // evict pods that exceed their limits of ephemeral storage
	Ended          node.Retention // runs of containers that are kept
}

// DNS holds how pods resolve names.
type DNS struct {
	ResolvConf string   // resolver configuration that pods inherit; empty disables it
	Servers    []string // of the cluster
	Domain     string   // of the cluster
}

// Logs limits the log files of containers.
type Logs struct {
	MaxSize  int64 // bytes of one file; below zero means no limit
	MaxFiles int   // of one run
	Workers  int
	Every    time.Duration // interval between looks at all logs
	Budget   LogBudget     // of all files together
}

// Runtime selects the container runtime and its settings.
type Runtime struct {
	Endpoint       string       // empty selects the built-in runtime
	SandboxImage   string       // of the built-in runtime; empty selects the bundled image
	CgroupDriver   string       // of the built-in runtime: "cgroupfs" or "systemd"; empty to detect it
	ServiceCIDR    netip.Prefix // of the addresses of services; an unused one if it is not valid
	NoServices     bool
	PodCIDRs       []netip.Prefix // of the built-in runtime, one a family; empty selects unused ones
	Closed         []uint16       // ports of the kubelet that pods of the built-in runtime may not connect to
	StopOnExit     bool           // the built-in runtime ends with the agent
	ImportLimit    int64          // bytes that an imported image may unpack to; zero means what the disk has
	CDIDirs        []string       // of the built-in runtime
	ImageEndpoint  string
	RequestTimeout time.Duration // for each call but pull, logs, exec and attach
}

// CDI holds where specs of the Container Device Interface are, and which of their devices are offered to pods.
type CDI struct {
	Dirs   []string
	Offers []node.CDIOffer
}

// Images holds how images are pulled and removed.
type Images struct {
	Parallel  int     // pulls at a time; zero means no limit
	PerSecond float64 // pulls per second; zero means no limit
	Burst     int     // pulls that may exceed PerSecond at once

	HighPercent, LowPercent int           // of disk usage: removal starts above High and stops at Low
	MinAge                  time.Duration // younger images stay
	MaxAge                  time.Duration // images unused for longer are removed; zero disables that

	Verify kubelet.ImagePullCredentialsVerificationPolicy // which pods may use a present image
	Allow  []string                                       // images that every pod may use

	ProviderConfig, ProviderPrograms string // of credential provider programs; empty disables them
}

// Cgroups holds how the limits of pods are enforced.
type Cgroups struct {
	PerPod         bool   // each pod has one of its own
	Root           string // parent of the pods' cgroups; empty means the top
	Driver         string // "cgroupfs" or "systemd", for a runtime that does not report its driver
	CPUQuota       bool   // CPU limits are enforced
	CPUQuotaPeriod time.Duration
	PodPids        int64   // processes of one pod; zero means no limit
	FailOnV1       bool    // the machine has to have version 2 of cgroups
	FailOnSwap     bool    // the machine must not swap
	LimitedSwap    bool    // burstable containers may use a part of the swap
	OOMSingle      *bool   // the OOM killer ends single processes; nil keeps the default of the cgroup version
	Kubelet        string  // the cgroup that the agent moves to; empty means that it stays
	System         string  // the cgroup that processes without one are moved to; empty means that they stay
	Runtime        string  // where stats find another runtime; empty means nowhere
	Reserve        int64   // percent of the memory that better classes request that a class of pods may not use
	OwnQuota       bool    // CPU limits bound also containers with CPUs of their own
	MemoryQoS      bool    // the kernel keeps the memory that is reserved for other programs
	KeepMemory     bool    // the kernel keeps the memory that pods request
	Throttle       float64 // how far from its request to its limit a container may go unhindered; zero means all the way
}

// Reserved holds the resources of the machine that pods do not get.
type Reserved struct {
	Kube, System corev1.ResourceList
	CPUs         cpuset.CPUSet               // reserved CPUs; empty reserves the CPU amounts of Kube and System
	Eviction     map[string]health.Threshold // by the names of signals in evictionHard
	Rules        []health.Rule               // all thresholds of eviction, hard and soft
	MaxPodGrace  time.Duration               // for pods that a soft threshold ends; below zero means no limit
	Shortage     time.Duration               // must be over for this long before the condition ends
	HoldAll      bool                        // all pods together are limited to the allocatable resources
	HoldKube     Held                        // the node's own programs are limited to Kube
	HoldSystem   Held                        // the machine's other programs are limited to System
}

// Held is a cgroup that gets no more than is reserved for it.
type Held struct {
	Cgroup string
	CPU    bool
	Rest   bool // memory and processes
}

// Listen holds where to serve. Port 0 disables a listener.
type Listen struct {
	Socket            string // empty disables it
	Address           string
	Port              int
	ReadOnlyAddress   string
	ReadOnlyPort      int
	HealthzAddress    string
	HealthzPort       int
	DebuggingHandlers bool          // logs, exec, attach, port-forward and run on the kubelet paths
	Profiles          bool          // profiles of the process are served
	DebugFlags        bool          // the verbosity of the log may be changed
	SystemLogs        bool          // logs of the machine are served
	SystemLogQuery    bool          // /logs/ takes queries
	StreamIdle        time.Duration // after which a silent stream of the kubelet paths ends; zero means never
	NodesFile         string        // of other nodes that the dashboard shows; empty for none
}

// Sources holds where pods come from besides the API. An empty path or URL disables a source.
type Sources struct {
	Once          bool // start their pods, report, exit
	StaticPodPath string
	FileCheck     time.Duration
	URL           string
	URLHeader     map[string][]string
	HTTPCheck     time.Duration
}

// Auth holds how callers are authenticated and authorized. Without TLSCertFile the node makes its own
// certificate in Dirs.Cert.
type Auth struct {
	Anonymous    bool
	OtherTokens  bool // a token that is not of this node's making counts as none; true if the file lets anybody in, as upstream has it
	ClientCAFile string
	Mode         AuthMode
	TLSCertFile  string
	TLSKeyFile   string
	TLS          TLS

	// Used only if the node is a member of a cluster.
	Tokens     bool          // the cluster checks tokens that the node does not know
	TokenTTL   time.Duration // for which those answers are cached
	AllowedTTL time.Duration
	DeniedTTL  time.Duration
	Serving    bool // the cluster issues the serving certificate
}

// AuthMode selects how an identity is authorized.
type AuthMode string

const (
	// AuthRoles uses the node's own roles: admin, operator and viewer.
	AuthRoles AuthMode = ""
	// AuthAlwaysAllow lets every identity do everything.
	AuthAlwaysAllow AuthMode = "AlwaysAllow"
	// AuthWebhook asks the cluster about identities without a role on the node.
	AuthWebhook AuthMode = "Webhook"
)

// Tunables selects what happens to sysctls that differ from the values that a node needs. The zero value leaves them.
type Tunables string

const (
	TunablesLeave Tunables = ""
	TunablesSet   Tunables = "set"
	TunablesCheck Tunables = "check" // the node does not start
)

// Cluster holds the node's membership of a cluster.
type Cluster struct {
	Kubeconfig   string // for its API server; empty if the node is no member
	Bootstrap    string // kubeconfig for requesting a certificate when there is none; empty disables that
	Rotate       bool   // renew the certificate before it expires
	Register     bool   // create the Node object if it does not exist
	Taints       []corev1.Taint
	ProviderID   string
	MaxImages    int           // that the Node object names; below zero means all
	Lease        time.Duration // after which the cluster considers a silent node lost
	StatusEvery  time.Duration // interval between computations of the node's status
	StatusAtMost time.Duration // interval between reports of an unchanged status
	QPS          float32       // requests per second to the API server; zero means no limit
	Burst        int
	EventQPS     float64 // events per second to the API server; zero means no limit
	EventBurst   int
	// ExternalCloud means that a cloud controller initializes the node and knows its addresses.
	ExternalCloud bool
	GivenIPs      []netip.Addr // those of --node-ip, for the cloud controller
}
