package decide

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// World holds what one look at a node shows. Its objects are not changed.
type World struct {
	Now          time.Time
	Deployments  []*appsv1.Deployment
	ReplicaSets  []*appsv1.ReplicaSet
	Jobs         []*batchv1.Job
	DaemonSets   []*appsv1.DaemonSet
	StatefulSets []*appsv1.StatefulSet
	CronJobs     []*batchv1.CronJob
	Revisions    []*appsv1.ControllerRevision              // past and present templates of DaemonSets and StatefulSets
	Claims       []*corev1.PersistentVolumeClaim           // if there are StatefulSets
	Zone         func(name string) (*time.Location, error) // finds a time zone
	Node         *corev1.Node                              // its name, labels and taints; nil if there are no DaemonSets
	Services     []*corev1.Service                         // none until the node knows how its pods are
	Slices       []*discoveryv1.EndpointSlice              // as Services
	Pods         []*corev1.Pod                             // that came over the API
	Everyone     []*corev1.Pod                             // and all others too
	Taken        map[types.NamespacedName]bool             // names of pods
	Trouble      map[types.UID]string                      // why a pod of a workload could not be made lately
}

// Empty reports whether there is nothing to look after.
func (w *World) Empty() bool {
	return len(w.Deployments)+len(w.ReplicaSets)+len(w.Jobs)+len(w.DaemonSets)+len(w.StatefulSets)+len(w.CronJobs)+
		len(w.Services)+len(w.Slices) == 0
}

// Makers returns the UIDs of the workloads that make pods.
func (w *World) Makers() (uids []types.UID) {
	uids = append(uids, uidsOf(w.ReplicaSets)...)
	uids = append(uids, uidsOf(w.Jobs)...)
	uids = append(uids, uidsOf(w.DaemonSets)...)
	return append(uids, uidsOf(w.StatefulSets)...)
}

func uidsOf[T metav1.Object](all []T) (uids []types.UID) {
	for _, one := range all {
		uids = append(uids, one.GetUID())
	}
	return uids
}

// Plan holds what to do next, in this order.
type Plan struct {
	Changes []Change
	Again   time.Time // when time alone may change the plan; zero if it does not

	Faults map[types.UID]string // why workloads do not run, where no status says so
}

// Change is one step. It names one object, and fails if that is not as it was.
type Change struct {
	Do    Deed
	Pod   *corev1.Pod       // of MakePod, ChangePod and DeletePod
	Value node.Value        // of the others
	For   types.UID         // the workload that a pod is made for
	Notes map[string]string // annotations to set with a status
}

// Deed says what a change does.
type Deed string

const (
	MakePod      Deed = "make a pod"
	ChangePod    Deed = "change a pod"
	DeletePod    Deed = "delete a pod"
	MakeObject   Deed = "make an object"
	ChangeObject Deed = "change an object"
	DeleteObject Deed = "delete an object"
	PutStatus    Deed = "put a status"
)

func (p *Plan) add(c Change) { p.Changes = append(p.Changes, c) }

// again has the plan made again at a time.
func (p *Plan) again(at time.Time) {
	if p.Again.IsZero() || at.Before(p.Again) {
		p.Again = at
	}
}

// Next returns what to do. Services come first: pods that replace others are found before those go. Deployments are next: the
// pods of a set that they shrink are not made.
func Next(w World) Plan {
	w.Taken = clone(w.Taken)
	p := &Plan{Faults: map[types.UID]string{}}
	claimed := map[types.UID]bool{}
	c := &circle{World: &w, plan: p, claimed: claimed, spent: w.spentPods(), changed: map[types.UID]bool{}}
	c.byName = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	for _, one := range w.Claims {
		c.byName[types.NamespacedName{Namespace: one.Namespace, Name: one.Name}] = one
	}
	c.services()
	c.unplaced = len(where(w.podsOfJobs(), refused))
	for _, d := range w.Deployments {
		c.deployment(d)
	}
	for _, s := range w.ReplicaSets {
		c.replicaSet(s)
	}
	for _, d := range w.DaemonSets {
		c.daemonSet(d)
	}
	for _, s := range w.StatefulSets {
		c.statefulSet(s)
	}
	for _, k := range w.CronJobs {
		c.cronJob(k)
	}
	for _, j := range w.Jobs {
		c.job(j)
	}
	return *p
}

func clone(names map[types.NamespacedName]bool) map[types.NamespacedName]bool {
	all := make(map[types.NamespacedName]bool, len(names))
	for name := range names {
		all[name] = true
	}
	return all
}

// circle is one making of a plan.
type circle struct {
	*World
	plan    *Plan
	claimed map[types.UID]bool                                     // pods and objects that have found an owner
	spent   map[types.UID]bool                                     // ended pods that jobs do not keep
	changed map[types.UID]bool                                     // objects that the plan changes: their status waits
	byName  map[types.NamespacedName]*corev1.PersistentVolumeClaim // Claims

	unplaced int // pods of jobs that the node has refused for now
	made     int // pods of jobs that the plan makes beside those that replace such ones
}

// goes handles a workload that waits for what belongs to it to be gone. It reports whether the workload is such a one.
func (c *circle) goes(of node.Value) bool {
	if of.GetDeletionTimestamp() == nil {
		return false
	}
	uid := of.GetUID()
	has := slices.ContainsFunc(c.Pods, func(p *corev1.Pod) bool { return ownedBy(p, uid) }) ||
		slices.ContainsFunc(c.ReplicaSets, func(s *appsv1.ReplicaSet) bool { return ownedBy(s, uid) }) ||
		slices.ContainsFunc(c.Jobs, func(j *batchv1.Job) bool { return ownedBy(j, uid) })
	if !has {
		c.plan.add(Change{Do: DeleteObject, Value: of})
	}
	return true
}
