package config

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node/health"
)

// Config is every setting that has an effect, resolved and checked. The wiring
// copies from it into each package's own small Config.
type Config struct {
	NodeName   string
	NodeIPs    []netip.Addr // one, or one of each family; empty to detect them
	NodeLabels map[string]string
	Dirs       Dirs
	Logs       Logs // of containers
	Runtime    Runtime
	Cgroups    Cgroups
	Reserved   Reserved
	Assign     Assign
	Images     Images
	Listen     Listen
	Sources    Sources
	Auth       Auth
	Cluster    Cluster
	MaxPods    int
	Tunables   Tunables
	// UnsafeSysctls are the sysctls beyond the safe ones that pods may set.
	UnsafeSysctls []string
	PodSysctls    map[string]string // defaults of every pod; a pod's own values win
	IDsPerPod     uint32            // users and groups in the user namespace of a pod
	CrashLoopMax  time.Duration     // the longest wait before a restart
	HoldToDisk    bool              // evict pods that exceed their limits of ephemeral storage
	RunOnce       bool              // start the pods of the sources, report, exit
	Logging       Logging
	Tracing       *Tracing // nil disables it

	kubelet      kubelet.KubeletConfiguration // all fields, for Configz and Unhonoured
	commandLine  map[string]string            // every flag, for Flagz
	flags        kubeletFlags                 // the flags that are no field, for Configz
	ignoredFlags []string                     // given and without effect: "--cloud-provider"
}

// Logs limits the log files of containers.
type Logs struct {
	MaxSize  int64 // bytes of one file; less than 0: no bound
	MaxFiles int   // of one run
	Workers  int
	Every    time.Duration // between two looks at all
}

// Runtime selects the container runtime and its settings.
type Runtime struct {
	Endpoint       string         // empty selects the built-in runtime
	SandboxImage   string         // of the built-in runtime; empty selects the bundled image
	CgroupDriver   string         // of the built-in runtime: "cgroupfs" or "systemd"; empty to detect it
	PodCIDRs       []netip.Prefix // of the built-in runtime, one a family; empty selects unused ones
	StopOnExit     bool           // the built-in runtime ends with the agent
	ImageEndpoint  string
	RequestTimeout time.Duration // for each call but pull, logs, exec and attach
	CgroupRoot     string        // parent of the pods' cgroups
	ResolvConf     string        // resolver configuration for pods; empty disables it
	ClusterDNS     []string
	ClusterDomain  string
	SeccompDefault bool // containers without a profile get the runtime's default
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
	Driver         string // "cgroupfs" or "systemd", for a runtime that does not report its driver
	CPUQuota       bool   // CPU limits are enforced
	CPUQuotaPeriod time.Duration
	PodPids        int64 // processes of one pod; zero means no limit
	FailOnV1       bool  // the machine has to have version 2 of cgroups
	FailOnSwap     bool  // the machine must not swap
	LimitedSwap    bool  // burstable containers may use a part of the swap
	OOMSingle      *bool // the OOM killer ends single processes; nil keeps the default of the cgroup version
}

// Reserved holds the resources of the machine that pods do not get.
type Reserved struct {
	Kube, System corev1.ResourceList
	CPUs         cpuset.CPUSet               // reserved CPUs; empty reserves the CPU amounts of Kube and System
	Eviction     map[string]health.Threshold // by the names of signals in evictionHard
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

// Listen says where to serve. Port 0 means no listener.
type Listen struct {
	Socket            string // empty disables it
	Address           string
	Port              int
	ReadOnlyAddress   string
	ReadOnlyPort      int
	HealthzAddress    string
	HealthzPort       int
	DebuggingHandlers bool // logs, exec, attach, port-forward and run on the kubelet paths
	Profiles          bool // of the process
	DebugFlags        bool // how much is logged may be changed
}

// Sources says where pods come from besides the API. An empty path or URL is
// no source.
type Sources struct {
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
	ClientCAFile string
	Mode         AuthMode
	TLSCertFile  string
	TLSKeyFile   string

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

// Tunables selects what happens to sysctls that differ from the values that a node
// needs. The zero value leaves them.
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
}

// Tracing selects where the daemon sends its spans.
type Tracing struct {
	Endpoint   string // of the collector
	PerMillion int32  // share of pods and requests that are traced
}

// Logging holds how the daemon logs.
type Logging struct {
	Format    string // "text" or "json"
	Verbosity int
}
