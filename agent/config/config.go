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
	NodeIPs    []netip.Addr // none: find out; else one, or one of each family
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
	PodSysctls    map[string]string // that pods get which ask for no others
	IDsPerPod     uint32            // users and groups that a pod of its own users gets
	CrashLoopMax  time.Duration     // the longest wait before a restart
	HoldToDisk    bool              // pods end that write more to the disk than they may
	RunOnce       bool              // start what the sources have, report, exit
	Logging       Logging
	Tracing       *Tracing // nil: off

	kubelet      kubelet.KubeletConfiguration // all fields, for Configz and Unhonoured
	commandLine  map[string]string            // every flag, for Flagz
	flags        kubeletFlags                 // the flags that are no field, for Configz
	ignoredFlags []string                     // given and without effect: "--cloud-provider"
}

// Logs bounds what is kept of containers' logs.
type Logs struct {
	MaxSize  int64 // bytes of one file; less than 0: no bound
	MaxFiles int   // of one run
	Workers  int
	Every    time.Duration // between two looks at all
}

// Runtime says where the container runtime is.
type Runtime struct {
	Endpoint       string         // empty: the agent brings its own
	SandboxImage   string         // for its own; empty: what comes with it
	CgroupDriver   string         // of its own: "cgroupfs" or "systemd"; empty: as the machine has it
	PodCIDRs       []netip.Prefix // of its own, one a family; none: free ones
	StopOnExit     bool           // its own ends with the agent
	ImageEndpoint  string
	RequestTimeout time.Duration // for each call but pull, logs, exec and attach
	CgroupRoot     string        // below which pods have their cgroups
	ResolvConf     string        // what pods resolve names with; empty: nothing
	ClusterDNS     []string
	ClusterDomain  string
	SeccompDefault bool // containers that ask for nothing get the runtime's profile
}

// Images says how images are pulled.
type Images struct {
	Parallel  int     // pulls at a time; zero: no bound
	PerSecond float64 // pulls that begin in a second; zero: no bound
	Burst     int     // of those, how many at once

	HighPercent, LowPercent int           // of the disk: above the first it is cleared down to the second
	MinAge                  time.Duration // younger images stay
	MaxAge                  time.Duration // images unused for longer go; zero: none do for that

	Verify kubelet.ImagePullCredentialsVerificationPolicy // whom images that are there are for
	Allow  []string                                       // images from elsewhere that are for all

	ProviderConfig, ProviderPrograms string // of programs that are asked for credentials; empty: none
}

// Cgroups says how pods are held to what they ask for.
type Cgroups struct {
	PerPod         bool   // each pod has one of its own
	Driver         string // who makes them, where the runtime does not say: "cgroupfs" or "systemd"
	CPUQuota       bool   // CPU limits hold
	CPUQuotaPeriod time.Duration
	PodPids        int64 // processes of one pod; zero: no bound
	FailOnV1       bool  // the machine has to have version 2 of cgroups
	FailOnSwap     bool  // the machine must not swap
	LimitedSwap    bool  // burstable containers may use a part of the swap
	OOMSingle      *bool // out of memory ends single processes; nil: as the machine's cgroups do
}

// Reserved is what pods do not get of the machine.
type Reserved struct {
	Kube, System corev1.ResourceList
	CPUs         cpuset.CPUSet               // these in particular; empty: as many as Kube and System say
	Eviction     map[string]health.Threshold // must be left, by evictionHard's names of signals
	Shortage     time.Duration               // has to be over for so long before it is no longer told
	HoldAll      bool                        // all pods together get no more than is left
	HoldKube     Held                        // the node's own programs get no more than Kube
	HoldSystem   Held                        // and the machine's others no more than System
}

// Held is a cgroup that gets no more than is reserved for it.
type Held struct {
	Cgroup string
	CPU    bool
	Rest   bool // memory and processes
}

// Listen says where to serve. Port 0 means no listener.
type Listen struct {
	Socket            string // empty: none
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

// Auth says who is let in. Without TLSCertFile the node makes its own
// certificate in Dirs.Cert.
type Auth struct {
	Anonymous    bool
	ClientCAFile string
	Mode         AuthMode
	TLSCertFile  string
	TLSKeyFile   string

	// What a cluster is asked for, if the node is a member of one.
	Tokens     bool          // whose a token is that the node does not know
	TokenTTL   time.Duration // for which the answers are remembered
	AllowedTTL time.Duration
	DeniedTTL  time.Duration
	Serving    bool // a certificate to serve with
}

// AuthMode says who decides what an identity may do.
type AuthMode string

const (
	// AuthRoles is the node's own admin, operator and viewer.
	AuthRoles AuthMode = ""
	// AuthAlwaysAllow lets every identity do everything.
	AuthAlwaysAllow AuthMode = "AlwaysAllow"
	// AuthWebhook asks the cluster about those who have no role on the node.
	AuthWebhook AuthMode = "Webhook"
)

// Tunables says what becomes of settings of the kernel that are not as nodes want
// them. The zero value leaves them.
type Tunables string

const (
	TunablesLeave Tunables = ""
	TunablesSet   Tunables = "set"
	TunablesCheck Tunables = "check" // the node does not start
)

// Cluster says of which cluster the node is a member.
type Cluster struct {
	Kubeconfig   string // how to reach its API server; empty: the node stands alone
	Bootstrap    string // the same, to ask for a certificate with when there is none; empty: do not ask
	Rotate       bool   // ask for another before it runs out
	Register     bool   // make the Node object if it is not there
	Taints       []corev1.Taint
	ProviderID   string
	MaxImages    int           // that the Node object names; below zero: all
	Lease        time.Duration // after which a silent node is lost
	StatusEvery  time.Duration // the node's status is made
	StatusAtMost time.Duration // it is not sent while nothing in it changes
	QPS          float32       // requests to the API server; zero: no bound
	Burst        int
	EventQPS     float64 // events that are told to it; zero: no bound
	EventBurst   int
	// ExternalCloud says that a program elsewhere looks after the node, and knows its addresses.
	ExternalCloud bool
}

// Tracing says where the daemon tells what took how long.
type Tracing struct {
	Endpoint   string // of the collector
	PerMillion int32  // of pods and requests that are told
}

// Logging says how the daemon logs.
type Logging struct {
	Format    string // "text" or "json"
	Verbosity int
}
