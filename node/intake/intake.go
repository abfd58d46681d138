package intake

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/capability"
	"nodal/node/life"
	"nodal/node/manifest"
	"nodal/node/offer"
	"nodal/node/policy"
	"nodal/node/storage"
	"nodal/node/store"
)

// Intake takes pods from one source into the store.
type Intake struct {
	Store   *store.Store
	Source  node.Source
	NewUID  func() types.UID
	Offer   func() offer.Offer   // reads what the node offers to pods now; nil means that it offers all and counts nothing
	Present func() admit.Present // the node's state; nil if it is unknown
	Storage storage.Keeper
	Policy  policy.Policy
	Sources map[node.Source]string // the configured ones, with their places; nil allows any
	// Unheld says why the node does not hold pods to NetworkPolicies; "" if it does. nil means that it does.
	Unheld func() string
	// NoWorkloads says why nothing runs the workloads that are posted; "" if something does.
	NoWorkloads string
	Services    Services
	Cordon      func() node.Cordon // whether new pods of the API are taken; nil means that they are
	Missing     *Missing           // of files and URLs; nil has what they no longer bring go at once
	// Preempted is called for each pod that has to end for a critical one, with the resource which
	// that one lacked. nil disables it.
	Preempted func(*node.Pod, corev1.ResourceName)
	// Before holds what another kubelet says that pods have. It counts for those that run, and have no record yet.
	Before map[types.UID]node.Held
}

// Delivery is one pod, or object that pods use, decoded, defaulted and valid, and where
// it came from.
type Delivery struct {
	Pod      *corev1.Pod   // nil where it is an object
	Object   *node.Object  // nil where it is a pod
	Origin   string        // the file or URL; empty for the API
	By       policy.Poster // the caller of the API; empty means the one that the source implies
	Document int           // its place in the bundle
	Since    *int64        // the object of its name must not have changed after this revision
	// Told is the status of the pod in its cluster; nil if it has none, or was not delivered by it.
	Told    *corev1.PodStatus
	Aliases []types.UID // other UIDs by which kubelets know the very pod, if its author gave it none
}

// Outcome says what was done with one pod or object, or would be done.
type Outcome struct {
	Key      node.Key
	Object   node.ObjectRef // where it is about no pod
	UID      types.UID
	Verdict  Verdict
	Changes  []string            // field paths that differ
	Restarts []string            // containers that restart because of it
	Warnings []string            // about fields without effect, and what the author may not expect
	Preempts []*node.Pod         // pods that have to end for it
	Lack     corev1.ResourceName // the resource that those hold
	Revision int64
}

// Verdict is the short form of an outcome.
type Verdict uint8

const (
	Unchanged Verdict = iota
	Created
	Updated  // the running pod takes the change
	Replaced // the old pod ends before the new one starts
	Deleted
)

func (v Verdict) String() string {
	return [...]string{"unchanged", "created", "updated", "replaced", "deleted"}[v]
}

// Apply takes all deliveries in one transaction, or none of them.
func (in Intake) Apply(deliveries []Delivery, now time.Time) ([]Outcome, int64, error) {
	var outcomes []Outcome
	revision, err := in.Store.Transact(func(tx *store.Tx) (err error) {
		outcomes, err = in.applyAll(tx, deliveries, now)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range outcomes {
		if object, ok := in.Store.Object(outcomes[i].Object); ok {
			outcomes[i].Revision = object.Revision
		}
		if view, ok := in.Store.View(outcomes[i].Key); ok {
			outcomes[i].Revision = view.Revision
		}
		in.report(outcomes[i])
	}
	return outcomes, revision, nil
}

// Plan answers what Apply would do.
func (in Intake) Plan(deliveries []Delivery, now time.Time) ([]Outcome, error) {
	var outcomes []Outcome
	err := in.Store.Try(func(tx *store.Tx) (err error) {
		outcomes, err = in.applyAll(tx, deliveries, now)
		return err
	})
	return outcomes, err
}

func (in Intake) applyAll(tx *store.Tx, deliveries []Delivery, now time.Time) ([]Outcome, error) {
	outcomes := make([]Outcome, len(deliveries))
	for _, d := range deliveries {
		if err := in.unchanged(d.Since, d.place()); err != nil {
			return nil, err
		}
	}
	settles := slices.ContainsFunc(deliveries, func(d Delivery) bool { return concernsStorage(tx, d) })
	for i, d := range deliveries { // objects first: a bundle may hold what a pod needs behind the pod
		if d.Object == nil {
			continue
		}
		outcome, err := in.applyObject(tx, d, now)
		if err != nil {
			return nil, err
		}
		outcomes[i] = outcome
	}
	seen := map[node.Key]int{}
	var violations []node.Violation
	for i, d := range deliveries {
		if d.Pod == nil {
			continue
		}
		key := node.KeyOf(d.Pod)
		if first, ok := seen[key]; ok {
			return nil, invalid(d, "metadata.name", fmt.Sprintf("document %d names the same pod", first+1))
		}
		seen[key] = d.Document
		outcome, err := in.applyOne(tx, d, now)
		if refused := (*node.InvalidError)(nil); errors.As(err, &refused) {
			violations = append(violations, refused.Violations...)
			continue // one answer shows all violations
		}
		if err != nil {
			return nil, err
		}
		outcomes[i] = outcome
	}
	if len(violations) == 0 {
		violations = ordered(tx, deliveries, outcomes)
	}
	if err := node.Invalid(violations, 0); err != nil {
		return nil, err
	}
	in.Readmit(tx, now) // a pod that asks for less leaves more for those that wait
	if settles {
		in.Storage.SettleIn(tx, now)
	}
	return outcomes, nil
}

func (in Intake) applyOne(tx *store.Tx, d Delivery, now time.Time) (Outcome, error) {
	warnings, refused := capability.Check(d.Pod)
	if len(refused) > 0 {
		return Outcome{}, refusal(d, refused)
	}
	d, key := in.known(tx, d), node.KeyOf(d.Pod)
	if holder, ok := tx.ByUID(d.Pod.UID); ok && holder != key {
		return Outcome{}, invalid(d, "metadata.uid", fmt.Sprintf("belongs to pod %s", holder))
	}
	outcome := Outcome{Key: key, Warnings: append(warnings, in.offered().Advice(d.Pod)...)}
	if err := in.owned(tx, d, d.Pod); err != nil {
		return Outcome{}, err
	}
	slot := tx.Get(key)
	if slot == nil {
		if err := errors.Join(in.crowded(tx, key), in.cordoned(d, Created)); err != nil {
			return Outcome{}, err
		}
		if wrong := in.unfit(tx, d, nil, Created); len(wrong) > 0 {
			return Outcome{}, refusal(d, wrong)
		}
		slot, _ = told(node.NewSlot(in.newPod(tx, d, &outcome, Created, now)), d.Told)
		tx.Put(key, slot)
		return outcome, nil
	}
	if owner := heir(slot); owner.Source != in.Source && owner.Deletion == nil {
		return Outcome{}, fmt.Errorf("pod %s belongs to source %s (%s): %w", key, owner.Source, owner.Origin, node.ErrConflict)
	}
	next := *slot
	in.succeed(tx, &next, d, &outcome, now)
	if err := in.cordoned(d, outcome.Verdict); err != nil {
		return Outcome{}, err
	}
	if wrong := in.unfit(tx, d, heir(slot), outcome.Verdict); len(wrong) > 0 {
		return Outcome{}, refusal(d, wrong)
	}
	var news bool
	if same := outcome.Verdict == Unchanged || outcome.Verdict == Updated; same && next.Next == nil {
		slot, news = told(&next, d.Told)
	} else {
		slot = &next
	}
	if news || outcome.Verdict != Unchanged {
		tx.Put(key, slot)
	}
	return outcome, nil
}

// unfit checks a valid manifest against the pod that it would change, and against the policy.
func (in Intake) unfit(tx *store.Tx, d Delivery, current *node.Pod, verdict Verdict) []node.Violation {
	return slices.Concat(
		claimed(d), ephemeral(d, current, verdict), classed(tx, d, verdict), in.ranked(tx, d, verdict), in.beyond(d, verdict))
}

// heir returns the pod that holds the key once all deletions are through.
func heir(slot *node.Slot) *node.Pod {
	if slot.Next != nil {
		return slot.Next
	}
	return slot.Pod
}

// succeed changes an occupied slot towards the delivered pod.
func (in Intake) succeed(tx *store.Tx, slot *node.Slot, d Delivery, outcome *Outcome, now time.Time) {
	current := heir(slot)
	if current.Deletion != nil {
		slot.Next = in.newPod(tx, d, outcome, Created, now)
		return
	}
	d, claimed := managed(d, current)
	wanted := in.placed(d.Pod)
	inherit(wanted, current)
	diff := manifest.Change(current.Object, wanted)
	outcome.UID, outcome.Changes = current.UID(), diff.Fields
	if claimed {
		outcome.Changes = append(outcome.Changes, managedFields)
	}
	replace := diff.Kind == manifest.Replace ||
		d.Pod.UID != "" && d.Pod.UID != current.UID() ||
		slot.Next == nil && (len(diff.Images) > 0 || diff.Resized) && in.cannotRunAgain(slot, d) ||
		slot.Next != nil && diff.Resized || // nothing runs that could take it
		current.Refused != nil && in.Source == node.SourceAPI // a client asks again
	switch {
	case replace && slot.Next != nil:
		slot.Next = in.newPod(tx, d, outcome, Replaced, now)
	case replace:
		slot.Pod = ended(slot, nil, "replaced", now)
		slot.Next = in.newPod(tx, d, outcome, Replaced, now)
		outcome.Restarts = containerNames(slot.Next.Object)
	case diff.Kind == manifest.Same && current.Origin == d.Origin && !claimed:
		outcome.Verdict = Unchanged
	case slot.Next != nil:
		slot.Next = updated(slot.Next, d)
		outcome.Verdict = Updated
	default:
		slot.Pod = updated(slot.Pod, d)
		outcome.Verdict = Updated
		for _, run := range in.renewed(slot, diff.Images) {
			outcome.Restarts = append(outcome.Restarts, run.Name)
		}
		if diff.Resized {
			in.resize(tx, slot, current, outcome, now)
		}
	}
}

// cannotRunAgain reports whether the pod can no longer start a container with the delivered spec:
// it has ended, is made to end, or only its sidecars still end. A delivery that names such a pod by
// its UID means that very pod, which does not run again. A file is different: its pod would never
// be delivered again.
func (in Intake) cannotRunAgain(slot *node.Slot, d Delivery) bool {
	switch {
	case slot.Result != nil:
		return true
	case d.Pod.UID != "":
		return slot.Termination != nil && in.Source != node.SourceAPI
	}
	view, ok := in.Store.View(slot.Pod.Key())
	return ok && life.Of(slot, view.Got).Over()
}

// placed returns a manifest as this node would keep it, so that naming the node, or not, makes no
// difference.
func (in Intake) placed(object *corev1.Pod) *corev1.Pod {
	placed := *object
	placed.Spec.NodeName = in.NodeName()
	return &placed
}

// inherit gives a manifest what the pod's classes have said when it was accepted.
func inherit(object *corev1.Pod, old *node.Pod) {
	object.Spec.Overhead = inherited(object, old.Object)
	inheritRank(object, old)
}

// newPod completes a delivered manifest into a pod of this node. A critical pod may preempt others
// for it.
func (in Intake) newPod(tx *store.Tx, d Delivery, outcome *Outcome, v Verdict, now time.Time) *node.Pod {
	object := in.placed(d.Pod).DeepCopy()
	if object.UID == "" {
		object.UID = in.NewUID()
	}
	object.CreationTimestamp = metav1.NewTime(now.Truncate(time.Second))
	object.Generation = 1
	object.Status = corev1.PodStatus{}
	pod := &node.Pod{Object: object, Source: in.Source, Origin: d.Origin, Accepted: now}
	pod.Began, _ = in.Store.Ran(pod.Key(), pod.UID())
	if d.Told != nil && d.Told.StartTime != nil && !pod.Began.IsZero() {
		pod.Began = d.Told.StartTime.Time
	}
	if class := classOf(tx, object); class != nil {
		object.Spec.Overhead, pod.Handler = overheadOf(class), class.Handler
	}
	pod.Claims, _ = node.ClaimsIn(object) // claimed has refused what cannot be read
	in.rank(tx, pod)
	in.admit(tx, pod, outcome, now)
	outcome.UID, outcome.Verdict = pod.UID(), v
	if pod.Refused != nil { // the client learns at once that the pod will not run
		outcome.Warnings = append(outcome.Warnings, in.refusalWords(tx, pod))
	}
	return pod
}

// updated returns the same pod with the delivered spec.
func updated(old *node.Pod, d Delivery) *node.Pod {
	object := d.Pod.DeepCopy()
	object.UID = old.Object.UID
	object.CreationTimestamp = old.Object.CreationTimestamp
	object.Generation = old.Object.Generation + 1
	object.Spec.NodeName = old.Object.Spec.NodeName
	inherit(object, old)
	object.Status = corev1.PodStatus{}
	if len(object.Spec.EphemeralContainers) == 0 {
		object.Spec.EphemeralContainers = old.Object.Spec.EphemeralContainers
	}
	pod := *old
	pod.Object, pod.Origin = object, d.Origin
	pod.Surplus = old.Surplus.Without("Object") // the delivered spec stands for the whole of it
	return &pod
}

// renewed returns, of each named container, the run that a new one replaces because of a change.
// A container without such a run, such as one that has ended for good, is left out.
func (in Intake) renewed(slot *node.Slot, names []string) []*node.Container {
	view, ok := in.Store.View(slot.Pod.Key())
	if !ok {
		return nil
	}
	var runs []*node.Container
	course := life.Of(slot, view.Got)
	for c := range course.Containers() {
		if run := course.Renewed(c); run != nil && slices.Contains(names, c.Name) {
			runs = append(runs, run)
		}
	}
	return runs
}

func containerNames(object *corev1.Pod) []string {
	var names []string
	for _, c := range object.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range object.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

func (d Delivery) String() string {
	if d.Object != nil {
		return d.Object.Ref().String()
	}
	return "Pod " + node.KeyOf(d.Pod).String()
}
