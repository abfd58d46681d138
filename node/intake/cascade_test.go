package intake

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
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
