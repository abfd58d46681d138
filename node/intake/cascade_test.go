package intake

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
	"nodal/node/policy"
)

func replicas() Delivery {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "calm"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "calm"}}
	set.Spec.Template.Labels = map[string]string{"app": "calm"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "a"}}
	return Delivery{Object: node.NewObject(set)}
}

var calm = replicas().Object.Ref()

// take has the node accept a delivery.
func (b *bench) take(d Delivery) {
	b.t.Helper()
	if _, _, err := b.in.Apply([]Delivery{d}, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// ownedPod returns a pod that belongs to the set.
func (b *bench) ownedPod(name string) Delivery {
	b.t.Helper()
	set, ok := b.in.Store.Object(calm)
	if !ok {
		b.t.Fatal("the set is not there")
	}
	d := Delivery{Pod: pod(name, "a")}
	kind, _ := node.KindNamed(string(node.ReplicaSet))
	d.Pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set.Value, kind.GroupVersionKind())}
	return d
}

// revision returns a past template of the set.
func (b *bench) revision(data string) Delivery {
	r := &appsv1.ControllerRevision{ObjectMeta: *b.ownedPod("x").Pod.ObjectMeta.DeepCopy(), Data: runtime.RawExtension{Raw: []byte(data)}}
	r.Name, r.Labels = "calm-1", nil
	return Delivery{Object: node.NewObject(r)}
}

func TestRevisionsAreOfTheNodeAndGoWithTheirWorkload(t *testing.T) {
	b := newBench(t)
	b.take(replicas())
	made := b.revision(`{"spec":{}}`)
	if _, _, err := b.in.Apply([]Delivery{made}, b.now); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("an admin posts one: %v", err)
	}
	if err := b.in.Review(made); !errors.Is(err, node.ErrUnsupported) {
		t.Errorf("an admin has one reviewed: %v", err)
	}
	made.By = policy.Workload
	b.take(made)
	other := b.revision(`{"spec":{"template":{}}}`)
	other.By = policy.Workload
	if _, _, err := b.in.Apply([]Delivery{other}, b.now); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("its data changes: %v", err)
	}
	if err := b.in.DeleteObject(calm, b.now); err != nil {
		t.Fatal(err)
	}
	if _, there := b.in.Store.Object(made.Object.Ref()); there {
		t.Error("it stays without its workload")
	}
	if _, _, err := b.in.Apply([]Delivery{made}, b.now); !errors.Is(err, node.ErrConflict) {
		t.Errorf("one of a workload that is gone is made: %v", err)
	}
}

func TestClaimsGoWithAStatefulSetThatSaysSo(t *testing.T) {
	for _, c := range []struct {
		name  string
		keeps appsv1.PersistentVolumeClaimRetentionPolicyType
		how   metav1.DeletionPropagation
		left  bool
	}{
		{"it keeps them", appsv1.RetainPersistentVolumeClaimRetentionPolicyType, "", true},
		{"it drops them", appsv1.DeletePersistentVolumeClaimRetentionPolicyType, "", false},
		{"it leaves all behind", appsv1.DeletePersistentVolumeClaimRetentionPolicyType, metav1.DeletePropagationOrphan, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}}
			set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
			set.Spec.Template = *replicas().Object.Template()
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: c.keeps}
			b.take(Delivery{Object: node.NewObject(set)})
			for name, app := range map[string]string{"data-db-0": "db", "data-db-x": "db", "data-db-1": "other", "more-db-0": "db"} {
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}}}
				b.take(Delivery{Object: node.NewObject(claim)})
			}
			if err := b.in.EndObject(ObjectDeletion{Ref: node.NewObject(set).Ref(), Propagation: c.how}, b.now); err != nil {
				t.Fatal(err)
			}
			left, _ := b.in.Store.Objects(node.PersistentVolumeClaim)
			_, there := b.in.Store.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data-db-0"})
			if there != c.left || len(left) != 3+map[bool]int{true: 1}[c.left] {
				t.Errorf("its claim is left: %t, of %d claims", there, len(left))
			}
		})
	}
}

func TestAStatefulSetKeepsWhatItsPodsStandOn(t *testing.T) {
	b := newBench(t)
	set := func(change func(*appsv1.StatefulSetSpec)) Delivery {
		made := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}}
		made.Spec.Selector, made.Spec.Template = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "calm"}}, *replicas().Object.Template()
		change(&made.Spec)
		return Delivery{Object: node.NewObject(made)}
	}
	b.take(set(func(*appsv1.StatefulSetSpec) {}))
	b.take(set(func(s *appsv1.StatefulSetSpec) { s.Replicas = new(int32(3)) }))
	for _, change := range []func(*appsv1.StatefulSetSpec){
		func(s *appsv1.StatefulSetSpec) { s.ServiceName = "other" },
		func(s *appsv1.StatefulSetSpec) { s.PodManagementPolicy = appsv1.ParallelPodManagement },
		func(s *appsv1.StatefulSetSpec) { s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}} },
		func(s *appsv1.StatefulSetSpec) { s.Selector = &metav1.LabelSelector{} },
	} {
		if _, _, err := b.in.Apply([]Delivery{set(change)}, b.now); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

func TestPodsGoWithTheirWorkload(t *testing.T) {
	for _, c := range []struct {
		name            string
		how             metav1.DeletionPropagation
		there, ends, is bool // the set is there, its pod ends, the pod belongs to it
	}{
		{"by default", "", false, true, true},
		{"in the background", metav1.DeletePropagationBackground, false, true, true},
		{"first", metav1.DeletePropagationForeground, true, true, true},
		{"not at all", metav1.DeletePropagationOrphan, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.take(replicas())
			b.take(b.ownedPod("mine"))
			b.take(Delivery{Pod: pod("other", "a")})
			if err := b.in.EndObject(ObjectDeletion{Ref: calm, Propagation: c.how}, b.now); err != nil {
				t.Fatal(err)
			}
			if _, there := b.in.Store.Object(calm); there != c.there {
				t.Errorf("the set is there: %t", there)
			}
			mine, _ := b.in.Store.View(node.Key{Namespace: "default", Name: "mine"})
			if ends := mine.Slot.Pod.Deletion != nil; ends != c.ends {
				t.Errorf("its pod ends: %t", ends)
			}
			if is := node.Owner(mine.Slot.Pod.Object) != nil; is != c.is {
				t.Errorf("the pod belongs to it: %t", is)
			}
			if other, _ := b.in.Store.View(node.Key{Namespace: "default", Name: "other"}); other.Slot.Pod.Deletion != nil {
				t.Error("another pod ends")
			}
			if !c.there {
				return
			}
			if err := b.in.EndObject(ObjectDeletion{Ref: calm}, b.now); err != nil {
				t.Fatal(err)
			}
			if _, there := b.in.Store.Object(calm); there {
				t.Error("the set is still there")
			}
		})
	}
}

func TestPodsGoWithTheWorkloadOfAFile(t *testing.T) {
	b := newBench(t)
	file := b.as(node.SourceFile)
	set := replicas()
	set.Origin = "/etc/pods/calm.yaml"
	file.take(set)
	b.take(b.ownedPod("mine"))
	if err := b.in.DeleteObject(calm, b.now); !errors.Is(err, node.ErrConflict) {
		t.Errorf("over the API: %v", err)
	}
	if err := file.in.DeleteObject(calm, b.now); err != nil {
		t.Fatal(err)
	}
	if mine, _ := b.in.Store.View(node.Key{Namespace: "default", Name: "mine"}); mine.Slot.Pod.Deletion == nil {
		t.Error("its pod stays")
	}
}

func TestOnlyTheMeantWorkloadGoes(t *testing.T) {
	b := newBench(t)
	b.take(replicas())
	if err := b.in.EndObject(ObjectDeletion{Ref: calm, UID: "another"}, b.now); !errors.Is(err, node.ErrConflict) {
		t.Errorf("by another UID: %v", err)
	}
	if err := b.in.EndObject(ObjectDeletion{Ref: calm, Since: new(int64)}, b.now); !errors.Is(err, node.ErrChanged) {
		t.Errorf("after a change: %v", err)
	}
}

func TestNothingIsMadeForAWorkloadThatIsGone(t *testing.T) {
	b := newBench(t)
	b.take(replicas())
	late := b.ownedPod("late")
	if err := b.in.DeleteObject(calm, b.now); err != nil {
		t.Fatal(err)
	}
	late.By = policy.Workload
	if _, _, err := b.in.Apply([]Delivery{late}, b.now); !errors.Is(err, node.ErrConflict) {
		t.Errorf("for one that is gone: %v", err)
	}
	late.By = policy.Admin // a person may post what they like
	b.take(late)
}

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

func TestWorkloadsInARingGoTogether(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		b := newBench(t)
		b.take(replicas())
		set, _ := b.in.Store.Object(calm)
		kind, _ := node.KindNamed(string(node.ReplicaSet))
		other := replicas()
		other.Object.Meta().Name = "other"
		other.Object.Meta().OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set.Value, kind.GroupVersionKind())}
		b.take(other)
		made, _ := b.in.Store.Object(other.Object.Ref())
		ring := replicas()
		ring.Object.Meta().OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(made.Value, kind.GroupVersionKind())}
		b.take(ring)
		if err := b.in.EndObject(ObjectDeletion{Ref: calm, Propagation: how}, b.now); err != nil {
			t.Error(err)
		}
		itself := replicas()
		itself.Object.Meta().Name = "itself"
		b.take(itself)
		set, _ = b.in.Store.Object(itself.Object.Ref())
		itself = replicas()
		itself.Object.Meta().Name = "itself"
		itself.Object.Meta().OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set.Value, kind.GroupVersionKind())}
		if _, _, err := b.in.Apply([]Delivery{itself}, b.now); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("an object that belongs to itself: got %v", err)
		}
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
