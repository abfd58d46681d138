package intake

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/capability"
	"nodal/node/policy"
	"nodal/node/store"
)

// permittedWorkload refuses a workload that nothing would run, whose owner is gone, or that changes what has to stay. It
// returns warnings about its pods.
func (in Intake) permittedWorkload(tx *store.Tx, d Delivery, old *node.Object) (warnings []string, err error) {
	if err := in.permittedRevision(d); err != nil {
		return nil, err
	}
	if !d.Object.Kind.Workload() {
		return nil, in.owned(tx, d, d.Object.Meta())
	}
	if in.NoWorkloads != "" {
		return nil, fmt.Errorf("%s: %s: %w", d.Object.Ref(), in.NoWorkloads, node.ErrUnsupported)
	}
	if err := in.owned(tx, d, d.Object.Meta()); err != nil {
		return nil, err
	}
	if owner := node.Owner(d.Object.Meta()); old != nil && owner != nil && owner.UID == old.Meta().UID {
		return nil, invalid(d, "metadata.ownerReferences", "is the object itself")
	}
	if old != nil {
		if field := changedForGood(old, continued(old, d.Object)); field != "" {
			return nil, invalid(d, field, "field is immutable")
		}
	}
	if keepsTemplate(d, old) {
		return nil, nil
	}
	warnings, refused := capability.Check(sample(d.Object))
	if len(refused) > 0 {
		return nil, refusal(d, inTemplate(d.Object.Kind, refused))
	}
	for i := range warnings {
		warnings[i] = templateField(d.Object.Kind) + warnings[i]
	}
	return warnings, nil
}

// permittedRevision refuses a past template that the part that runs workloads has not made: pods are made from it, and it is
// not held to the policy of posters.
func (in Intake) permittedRevision(d Delivery) error {
	if d.Object.Kind != node.ControllerRevision || in.poster(d) == policy.Workload {
		return nil
	}
	return fmt.Errorf("%s: the node makes revisions from the templates of workloads; change the workload: %w", d.Object.Ref(), node.ErrUnsupported)
}

// keepsTemplate reports whether a delivery changes nothing of the pods that a workload stands for. Then its template is not
// judged again: what the node has allowed before can be scaled, and be scaled down.
func keepsTemplate(d Delivery, old *node.Object) bool {
	return old != nil && old.Template() != nil && apiequality.Semantic.DeepEqual(old.Template(), continued(old, d.Object).Template())
}

func templateField(of node.ObjectKind) string {
	if of == node.CronJob {
		return "spec.jobTemplate.spec.template."
	}
	return "spec.template."
}

// sample returns one of the pods that a workload stands for.
func sample(o *node.Object) *corev1.Pod {
	pod := o.Copy()
	pod.Name = o.Meta().Name
	return pod
}

func inTemplate(kind node.ObjectKind, of []node.Violation) []node.Violation {
	for i := range of {
		of[i].Field = templateField(kind) + of[i].Field
	}
	return of
}

// owned refuses what the part that runs workloads makes for one that is gone or goes.
func (in Intake) owned(tx *store.Tx, d Delivery, of metav1.Object) error {
	owner := node.Owner(of)
	if owner == nil || in.poster(d) != policy.Workload {
		return nil
	}
	ref := node.ObjectRef{Kind: node.ObjectKind(owner.Kind), Namespace: of.GetNamespace(), Name: owner.Name}
	if found := tx.Object(ref); found == nil || found.Meta().UID != owner.UID || found.Meta().DeletionTimestamp != nil {
		return fmt.Errorf("%s, to which %s belongs, is gone: %w", ref, d, node.ErrConflict)
	}
	return nil
}

// changedForGood returns a field that differs and may not.
func changedForGood(old, next *node.Object) string {
	var was, is any
	field := "spec.selector"
	switch v := next.Value.(type) {
	case *appsv1.ReplicaSet:
		was, is = old.Value.(*appsv1.ReplicaSet).Spec.Selector, v.Spec.Selector
	case *appsv1.Deployment:
		was, is = old.Value.(*appsv1.Deployment).Spec.Selector, v.Spec.Selector
	case *appsv1.DaemonSet:
		was, is = old.Value.(*appsv1.DaemonSet).Spec.Selector, v.Spec.Selector
	case *batchv1.CronJob:
		return ""
	case *appsv1.StatefulSet:
		return statefulChanged(&old.Value.(*appsv1.StatefulSet).Spec, &v.Spec)
	case *batchv1.Job:
		return jobChanged(&old.Value.(*batchv1.Job).Spec, &v.Spec)
	}
	if apiequality.Semantic.DeepEqual(was, is) {
		return ""
	}
	return field
}

// jobChanged names what may not change of a job. The template of a suspended one could change in Kubernetes.
func jobChanged(old, next *batchv1.JobSpec) string {
	indexed := old.CompletionMode != nil && *old.CompletionMode == batchv1.IndexedCompletion
	field := differs([]fixed{
		{"selector", old.Selector, next.Selector}, {"template", old.Template, next.Template}, {"completionMode", old.CompletionMode, next.CompletionMode},
	})
	if field == "" && !indexed && !apiequality.Semantic.DeepEqual(old.Completions, next.Completions) {
		return "spec.completions"
	}
	return field
}

func statefulChanged(old, next *appsv1.StatefulSetSpec) string {
	return differs([]fixed{
		{"selector", old.Selector, next.Selector}, {"serviceName", old.ServiceName, next.ServiceName},
		{"podManagementPolicy", old.PodManagementPolicy, next.PodManagementPolicy},
		{"volumeClaimTemplates", old.VolumeClaimTemplates, next.VolumeClaimTemplates},
	})
}

// fixed is a field of a spec that stays as it is.
type fixed struct {
	name    string
	was, is any
}

func differs(fields []fixed) string {
	for _, f := range fields {
		if !apiequality.Semantic.DeepEqual(f.was, f.is) {
			return "spec." + f.name
		}
	}
	return ""
}

// begin gives a new workload what an API server would.
func begin(made *node.Object) {
	if !made.Kind.Workload() {
		return
	}
	made.Meta().Generation = 1
	if job := node.As[*batchv1.Job](made); job != nil && !(job.Spec.ManualSelector != nil && *job.Spec.ManualSelector) {
		selectOwn(job)
	}
}

// selectOwn has a job select its own pods by its UID.
func selectOwn(job *batchv1.Job) {
	marks := job.Spec.Template.Labels
	if marks == nil {
		marks = map[string]string{}
	}
	uid := string(job.UID)
	marks[batchv1.ControllerUidLabel], marks["controller-uid"] = uid, uid
	marks[batchv1.JobNameLabel], marks["job-name"] = job.Name, job.Name
	job.Spec.Template.Labels = marks
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: uid}}
}

// continueWorkload writes into a delivered workload what the node and its clients have written into the old one.
func continueWorkload(old, next *node.Object) {
	next.TakeStatus(old)
	next.Meta().Generation = old.Meta().Generation
	notes := map[string]string{}
	for _, key := range node.WorkloadNotes {
		note := old.Meta().Annotations[key]
		if _, has := next.Meta().Annotations[key]; key == node.NoteCounted || !has && note != "" {
			notes[key] = note // an old list of what is counted would have it counted again
		}
	}
	annotate(next.Meta(), notes)
	was, is := node.As[*batchv1.Job](old), node.As[*batchv1.Job](next)
	if is != nil && is.Spec.Selector == nil && !(was.Spec.ManualSelector != nil && *was.Spec.ManualSelector) {
		is.UID = was.UID
		selectOwn(is)
	}
}

// annotate sets annotations. An empty one goes.
func annotate(of *metav1.ObjectMeta, notes map[string]string) {
	if len(notes) == 0 {
		return
	}
	all := map[string]string{}
	maps.Copy(all, of.Annotations)
	for key, text := range notes {
		if text == "" {
			delete(all, key)
		} else {
			all[key] = text
		}
	}
	of.Annotations = all
}

// counted counts a change of the spec.
func counted(next *node.Object, changes []string) {
	if next.Kind.Workload() && slices.Contains(changes, "spec") {
		next.Meta().Generation++
	}
}

// ObjectStatus is the status of a workload, as a client found it.
type ObjectStatus struct {
	Ref   node.ObjectRef
	UID   types.UID    // only of this object, when set
	Since *int64       // it must not have changed after this revision
	Value *node.Object // whose status is meant

	Annotations map[string]string // to set with it; an empty one goes
}

// SetStatus replaces the status of a workload. A status that says nothing new changes nothing.
func (in Intake) SetStatus(s ObjectStatus) error {
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		if err := in.unchanged(s.Since, place{ref: s.Ref}); err != nil {
			return err
		}
		old := tx.Object(s.Ref)
		switch {
		case !s.Ref.Kind.Workload():
			return fmt.Errorf("%s: the status of this kind is the node's own: %w", s.Ref, node.ErrUnsupported)
		case old == nil:
			return fmt.Errorf("%s: %w", s.Ref, node.ErrNotFound)
		case s.UID != "" && s.UID != old.Meta().UID:
			return fmt.Errorf("%s has uid %s, not %s: %w", s.Ref, old.Meta().UID, s.UID, node.ErrConflict)
		}
		for key := range s.Annotations {
			if !slices.Contains(node.WorkloadNotes, key) {
				return fmt.Errorf("annotation %s is not set with a status: %w", key, node.ErrUnsupported)
			}
		}
		next := old.Clone()
		next.TakeStatus(s.Value)
		annotate(next.Meta(), s.Annotations)
		if !apiequality.Semantic.DeepEqual(old.Value, next.Value) {
			tx.PutObject(next)
		}
		return nil
	})
	return err
}
