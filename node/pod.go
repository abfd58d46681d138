package node

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/limit"
	"nodal/node/surplus"
	"nodal/node/users"
)

// Key names a pod on this node. At any time at most one pod owns a key.
type Key struct{ Namespace, Name string }

func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Compare orders keys by namespace, then by name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// KeyOf returns the key that an object asks for.
func KeyOf(object *corev1.Pod) Key { return Key{object.Namespace, object.Name} }

// Source is an origin of pods. Each owns the keys it delivers.
type Source string

const (
	SourceAPI  Source = "api"
	SourceFile Source = "file"
	SourceURL  Source = "url"
	// SourceCluster stands for a cluster on the board of sources. Its pods come through the API, so it owns none.
	SourceCluster Source = "cluster"
	// SourceRuntime owns pods without a record: they were found running and only wait for their
	// teardown.
	SourceRuntime Source = "runtime"
)

// Wants reports whether a source wants a pod, which it may not have delivered yet. runs is false if only the remains of
// the pod are there, which readers of logs may want.
type Wants func(uid types.UID, runs bool) bool

// Claims answers for a source that delivers its pods one by one.
type Claims interface {
	Wants(uid types.UID, runs bool) bool
	// Delivered reports whether the pod was delivered since the start of the agent. A record from before may be outdated.
	Delivered(key Key, uid types.UID) bool
}

// Pod is one accepted pod: an immutable snapshot of what is wanted. A change
// makes a new one; readers may keep and compare pointers.
type Pod struct {
	Object    *corev1.Pod  `json:"Object"` // defaulted and validated, never written again
	Source    Source       `json:"Source"`
	Origin    string       `json:"Origin"` // the file or URL it came from
	Accepted  time.Time    `json:"Accepted"`
	Began     time.Time    `json:"Began,omitzero"`      // when another kubelet had begun it; zero if this one has
	Deletion  *Deletion    `json:"Deletion"`            // set once the pod has to go
	Restarts  []Restart    `json:"Restarts"`            // that were asked for, the newest of each container
	Refused   *Refusal     `json:"Refused"`             // why this node will not run it
	Handler   string       `json:"Handler,omitempty"`   // of the runtime, from its runtime class; empty for the default one
	Unclassed bool         `json:"Unclassed,omitempty"` // its manifest names no priority class: the node's default stood in
	Users     *users.Range `json:"Users,omitempty"`     // the host's users that stand for its own; nil if it shares the host's
	Shares    Shares       `json:"Shares,omitempty"`    // of the machine, that are its containers' alone
	Grants    Grants       `json:"Grants,omitempty"`    // what plugins have answered for its devices
	// Claims are the ResourceClaims that the pod uses, as they were allocated and as drivers have prepared them.
	Claims  []DeviceClaim `json:"Claims,omitempty"`
	Resize  *Resize       `json:"Resize"`           // why it does not have the resources that it asks for
	Resized time.Time     `json:"Resized"`          // when its resources were last changed while it ran; zero if never
	Awaits  []Life        `json:"Awaits,omitempty"` // pods that end to make room for it, before it begins
	// Conditions are those that clients set, such as those of readiness gates.
	Conditions []corev1.PodCondition `json:"Conditions,omitempty"`
	// Surplus holds what a newer agent has recorded of the pod. This agent only keeps it.
	Surplus *surplus.Tree `json:"-"`
}

func (p *Pod) Key() Key       { return KeyOf(p.Object) }
func (p *Pod) UID() types.UID { return p.Object.UID }

// Begun returns when the pod began on this machine.
func (p *Pod) Begun() time.Time {
	if !p.Began.IsZero() {
		return p.Began
	}
	return p.Accepted
}

// WantedBy returns the source that says whether the pod is still wanted.
func (p *Pod) WantedBy() Source {
	if p.Source == SourceAPI && FromCluster(p.Object) {
		return SourceCluster
	}
	return p.Source
}

// AnnotationPlaced marks a pod or volume whose node labels a cluster has matched already. A cluster
// gives nodes labels that they do not know themselves.
const AnnotationPlaced = "nodal.node/placed"

// Placed reports whether an object is marked so.
func Placed(object metav1.Object) bool { return object.GetAnnotations()[AnnotationPlaced] == "true" }

// AnnotationFrom marks what a cluster brought to the node.
const AnnotationFrom = "nodal.node/from"

// Cluster is the value of AnnotationFrom.
const Cluster = "cluster"

// FromCluster reports whether a cluster brought an object.
func FromCluster(object metav1.Object) bool {
	return object.GetAnnotations()[AnnotationFrom] == Cluster
}

// HasOwnUsers reports whether a pod has users apart from those of the host.
func HasOwnUsers(object *corev1.Pod) bool {
	return object.Spec.HostUsers != nil && !*object.Spec.HostUsers
}

// Refusal says why a node does not run a valid pod.
type Refusal struct {
	Reason  string `json:"Reason"` // Kubernetes' word: OutOfcpu, NodeAffinity, ...
	Message string `json:"Message"`
	Lack    Lack   `json:"Lack,omitempty"`
}

// Lack names what could not be assigned to a pod's containers, or not be changed while the pod runs. It is empty if the
// pod was refused for another reason.
type Lack string

const (
	LackCPUs    Lack = "cpus"
	LackMemory  Lack = "memory"
	LackDevices Lack = "devices"
	LackPlace   Lack = "place" // CPUs, memory and devices that lie together
	LackSwap    Lack = "swap"  // a part of it that follows from the memory
)

// Deletion says by when a pod has to be gone.
type Deletion struct {
	Requested time.Time     `json:"Requested"`
	Grace     time.Duration `json:"Grace"`
	Reason    string        `json:"Reason"` // shown in events: "deleted", "replaced", "removed from its source"
}

// Deadline returns the moment from which the pod may be killed.
func (d *Deletion) Deadline() time.Time { return d.Requested.Add(d.Grace) }

// Restart asks that runs of a container up to Attempt end and another begins.
type Restart struct {
	Container string `json:"Container"`
	Attempt   uint32 `json:"Attempt"`
	// All has every container of the pod start over, at once and from the first init
	// container on, because a rule of one of them asks for it.
	All   bool      `json:"All,omitempty"`
	Cause bool      `json:"Cause,omitempty"` // the end of this very run is the cause
	At    time.Time `json:"At,omitzero"`     // when all last started over
}

// MergeRestarts adds more restarts to those that were asked for; of each container the last one
// counts. A restart that was part of a restart of all stays marked as such.
func MergeRestarts(asked, more []Restart) []Restart {
	byName := map[string]Restart{}
	for _, r := range slices.Concat(asked, more) {
		before := byName[r.Container]
		if r.Attempt <= before.Attempt {
			r.All, r.Cause = r.All || before.All, r.Cause || before.Cause
		}
		if r.At.IsZero() {
			r.At = before.At
		}
		byName[r.Container] = r
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Restart) int { return cmp.Compare(a.Container, b.Container) })
}

// Slot is the durable side of one key, and the unit of journalling.
type Slot struct {
	Pod     *Pod              `json:"Pod"`            // owns the key
	Next    *Pod              `json:"Next"`           // takes over once Pod's teardown is complete
	Tallies map[string]Tally  `json:"Tallies"`        // by container
	Health  map[string]Health `json:"Health"`         // by container, for the next start of the agent
	Lost    []Container       `json:"Lost,omitempty"` // runs that vanished: the runtime no longer shows them
	Result  *corev1.PodStatus `json:"Result"`
	// Termination is set once the node ends the pod although its containers would go on.
	Termination *Termination `json:"Termination,omitempty"`
	// Surplus holds what a newer agent has recorded beside that. This agent only keeps it.
	Surplus *surplus.Tree `json:"-"`
	// Newer says that the record is of a version that this agent does not write: the slot
	// is shown, and its pod left alone.
	Newer bool `json:"-"`
}

// Termination says why the node ends a pod that no client deletes. The pod fails, however its
// containers end, and does not come back unless it returns after a shutdown.
type Termination struct {
	Requested time.Time     `json:"Requested"`
	Reason    string        `json:"Reason"` // Kubernetes' word: DeadlineExceeded, ...
	Message   string        `json:"Message"`
	Grace     time.Duration `json:"Grace,omitempty"` // zero means the pod's own
	// Signal names what the node ran short of, if that is why the pod is evicted.
	Signal string `json:"Signal,omitempty"`
	// Returns says that the pod runs again once the machine is back: it ends only for a shutdown.
	Returns bool `json:"Returns,omitempty"`
	// Halted says that nothing of a pod that returns runs any more.
	Halted bool `json:"Halted,omitempty"`
}

// Deadline returns the moment from which a pod that the node ends may be killed.
func (t *Termination) Deadline(pod *Pod) time.Time {
	return t.Requested.Add(cmp.Or(t.Grace, GracePeriod(pod.Object)))
}

// Evicted is Kubernetes' word for a pod that used more than it may, or than the node had left.
const Evicted = "Evicted"

// Closed reports whether the pod has ended or is made to end. It takes no change then that a
// container would have to run for.
func (s *Slot) Closed() bool { return s.Result != nil || s.Termination != nil }

// NewSlot gives a key to a pod. A pod that the node refused has failed already.
func NewSlot(pod *Pod) *Slot {
	slot := &Slot{Pod: pod}
	if r := pod.Refused; r != nil {
		slot.Result = &corev1.PodStatus{Phase: corev1.PodFailed, Reason: r.Reason, Message: r.Message}
	}
	return slot
}

// Tally is the restart memory of one container.
type Tally struct {
	Restarts int32 `json:"Restarts"`        // attempts that were begun after the first
	Streak   int32 `json:"Streak"`          // of these, the ones in a row without a long run in between
	Begun    bool  `json:"Begun,omitempty"` // of an ephemeral container: it was started once, and is not started again
	// Started is the time of a restarted sidecar's first start in its sandbox.
	Started time.Time `json:"Started,omitzero"`
}

// Restarted returns the tally after one more restart of a container that ran
// for so long.
func (t Tally) Restarted(ran time.Duration) Tally {
	if ran >= streakReset {
		t.Streak = 0
	}
	return Tally{Restarts: t.Restarts + 1, Streak: t.Streak + 1}
}

const (
	backoffBase = 10 * time.Second
	streakReset = 10 * time.Minute
	// DefaultBackoffMax bounds the pause between restarts of a crashing container.
	DefaultBackoffMax = 300 * time.Second
)

// Pause returns how long a container stays down before its next restart, after a run of that
// length: zero at first, then 10 s doubling up to the maximum.
func (t Tally) Pause(ran, maximum time.Duration) time.Duration {
	if t.Streak == 0 || ran >= streakReset {
		return 0
	}
	return Backoff(backoffBase, t.Streak, maximum)
}

// Backoff returns base, doubled for each failure after the first, up to maximum.
func Backoff(base time.Duration, failures int32, maximum time.Duration) time.Duration {
	d := base
	for i := int32(1); i < failures && d < maximum; i++ {
		d *= 2
	}
	return min(d, maximum)
}

// Site holds the facts that are the same for every pod of this node.
type Site struct {
	NodeName   string
	HostIPs    []string
	Runtime    string        // the runtime's name, as in containerd://ID
	BackoffMax time.Duration // longest pause between restarts of a crashing container
	Cgroups    bool          // each pod has a cgroup of its own
	Boot       string        // of the machine: its id
	Limits     limit.Rules   // of these
	Shared     string        // CPUs of containers without exclusive ones; empty for any
	Retention  *Retention    // of runs that have ended; nil stands for UsualRetention
}

// Keep returns the retention of runs that have ended.
func (s Site) Keep() Retention {
	if s.Retention == nil {
		return UsualRetention()
	}
	return *s.Retention
}

// GracePeriod returns the time for the pod to end if a deletion does not say otherwise.
func GracePeriod(object *corev1.Pod) time.Duration {
	if s := object.Spec.TerminationGracePeriodSeconds; s != nil {
		return Seconds(*s)
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// Seconds converts a manifest's number of seconds, bounded to 68 years: a larger product would
// overflow and be negative.
func Seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt32)) * time.Second
}

// UIDs returns those of the slot's pod and of the pod that waits for its name.
func (s *Slot) UIDs() []types.UID {
	if s.Next == nil {
		return []types.UID{s.Pod.UID()}
	}
	return []types.UID{s.Pod.UID(), s.Next.UID()}
}

// Holds reports whether the UID is that of the slot's pod or of the pod that waits for its name.
func (s *Slot) Holds(uid types.UID) bool { return s != nil && slices.Contains(s.UIDs(), uid) }
