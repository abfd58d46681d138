package intake

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/policy"
)

func TestChangesOfASpecAreCounted(t *testing.T) {
	b := newBench(t)
	b.take(replicas())
	generation := func() int64 {
		o, _ := b.in.Store.Object(calm)
		return o.Meta().Generation
	}
	if got := generation(); got != 1 {
		t.Errorf("a new one is at %d", got)
	}
	labelled := replicas()
	labelled.Object.Meta().Labels = map[string]string{"a": "b"}
	b.take(labelled)
	if got := generation(); got != 1 {
		t.Errorf("labels bring it to %d", got)
	}
	wider := replicas()
	node.As[*appsv1.ReplicaSet](wider.Object).Spec.Replicas = new(int32(3))
	b.take(wider)
	if got := generation(); got != 2 {
		t.Errorf("another spec brings it to %d", got)
	}
	moved := replicas()
	node.As[*appsv1.ReplicaSet](moved.Object).Spec.Selector.MatchLabels["app"] = "other"
	if _, _, err := b.in.Apply([]Delivery{moved}, b.now); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("another selector: %v", err)
	}
}

func TestTheStatusOfAWorkloadStaysWhileItChanges(t *testing.T) {
	b := newBench(t)
	b.take(replicas())
	shown := replicas().Object
	node.As[*appsv1.ReplicaSet](shown).Status.Replicas = 2
	set := ObjectStatus{Ref: calm, Value: shown, Annotations: map[string]string{node.NoteRevision: "4"}}
	if err := b.in.SetStatus(set); err != nil {
		t.Fatal(err)
	}
	before := b.in.Store.Revision()
	if err := b.in.SetStatus(set); err != nil || b.in.Store.Revision() != before {
		t.Errorf("the same status is a change: %v", err)
	}
	wider := replicas()
	node.As[*appsv1.ReplicaSet](wider.Object).Spec.Replicas = new(int32(3))
	b.take(wider)
	o, _ := b.in.Store.Object(calm)
	if got := node.As[*appsv1.ReplicaSet](o); got.Status.Replicas != 2 || got.Annotations[node.NoteRevision] != "4" {
		t.Errorf("the status is %+v with %v", got.Status, got.Annotations)
	}
	set.Since = new(int64)
	if err := b.in.SetStatus(set); !errors.Is(err, node.ErrChanged) {
		t.Errorf("after a change: %v", err)
	}
	if err := b.in.SetStatus(ObjectStatus{Ref: settings("").Ref(), Value: settings("")}); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("of a ConfigMap: %v", err)
	}
}

func TestAJobSelectsItsOwnPods(t *testing.T) {
	b := newBench(t)
	deliver := func() Delivery {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"}}
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "a"}}
		return Delivery{Object: node.NewObject(job)}
	}
	b.take(deliver())
	o, _ := b.in.Store.Object(deliver().Object.Ref())
	job := node.As[*batchv1.Job](o)
	uid := string(job.UID)
	if job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] != uid || job.Spec.Template.Labels["job-name"] != "work" {
		t.Errorf("it selects %v of %v", job.Spec.Selector, job.Spec.Template.Labels)
	}
	b.take(deliver()) // as its author wrote it
	if again, _ := b.in.Store.Object(deliver().Object.Ref()); again.Revision != o.Revision {
		t.Error("the same manifest is a change")
	}
}

func TestWorkloadsAreHeldToThePolicyOfTheirPoster(t *testing.T) {
	b := newBench(t)
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.Operator: policy.Baseline}}
	d := replicas()
	d.Object.Template().Spec.HostNetwork = true
	d.By = policy.Operator
	if _, _, err := b.in.Apply([]Delivery{d}, b.now); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("by an operator: %v", err)
	}
	d.By = policy.Admin
	b.take(d)
	mine := b.ownedPod("mine")
	mine.Pod.Spec.HostNetwork = true
	mine.By = policy.Workload
	b.take(mine)
}

func TestAReviewJudgesThePodsOfAWorkload(t *testing.T) {
	b := newBench(t)
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.File: policy.Baseline}}
	d := replicas()
	d.By = policy.File
	if err := b.in.Review(d); err != nil {
		t.Errorf("a plain one: %v", err)
	}
	d.Object.Template().Spec.HostNetwork = true
	if err := b.in.Review(d); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("one whose pods the policy forbids: got %v", err)
	}
}

func TestAWorkloadOfBeforeAPolicyIsScaled(t *testing.T) {
	b := newBench(t)
	b.in.Policy = policy.Policy{Posters: map[policy.Poster]policy.Level{policy.Operator: policy.Baseline}}
	deliver := func(size int32, by policy.Poster, hostPID bool) error {
		d := replicas()
		d.Object.Template().Spec.HostNetwork, d.Object.Template().Spec.HostPID = true, hostPID
		node.As[*appsv1.ReplicaSet](d.Object).Spec.Replicas = new(size)
		d.By = by
		_, _, err := b.in.Apply([]Delivery{d}, b.now)
		return err
	}
	if err := deliver(2, policy.Admin, false); err != nil {
		t.Fatal(err)
	}
	if err := deliver(0, policy.Operator, false); err != nil {
		t.Errorf("its size: %v", err)
	}
	if err := deliver(0, policy.Operator, true); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("its template: %v", err)
	}
}

func TestWhatIsCountedOfAJobIsNotForgotten(t *testing.T) {
	b := newBench(t)
	deliver := func(notes map[string]string) Delivery {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work", Annotations: notes}}
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "a"}}
		return Delivery{Object: node.NewObject(job)}
	}
	d := deliver(nil)
	b.take(d)
	ref := d.Object.Ref()
	if err := b.in.SetStatus(ObjectStatus{Ref: ref, Value: d.Object, Annotations: map[string]string{node.NoteCounted: "u1 u2"}}); err != nil {
		t.Fatal(err)
	}
	b.take(deliver(map[string]string{node.NoteCounted: "u1", "mine": "1"}))
	if o, _ := b.in.Store.Object(ref); o.Meta().Annotations[node.NoteCounted] != "u1 u2" || o.Meta().Annotations["mine"] != "1" {
		t.Errorf("got %v", o.Meta().Annotations)
	}
	strange := ObjectStatus{Ref: ref, Value: d.Object, Annotations: map[string]string{"no/such/key": "1"}}
	if err := b.in.SetStatus(strange); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("another annotation with a status: %v", err)
	}
}

func TestANodeOfAClusterTakesNoWorkloads(t *testing.T) {
	b := newBench(t)
	b.in.NoWorkloads = "the node belongs to a cluster"
	if _, _, err := b.in.Apply([]Delivery{replicas()}, b.now); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
