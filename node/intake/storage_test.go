package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/storage"
)

var dataClaim = node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}

func claiming(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: dataClaim.Name},
	}}}
}

func (b *bench) postClaim() {
	b.t.Helper()
	b.in.Storage = storage.Keeper{Dir: "/volumes", NewUID: b.in.NewUID}
	if _, _, err := b.in.Apply([]Delivery{{Object: newClaim()}}, b.now); err != nil {
		b.t.Fatal(err)
	}
}

func newClaim() *node.Object {
	c := &corev1.PersistentVolumeClaim{}
	c.Namespace, c.Name = dataClaim.Namespace, dataClaim.Name
	c.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
	return node.NewObject(c)
}

// claim shows whether the claim is there, or only until its last user is gone.
func (b *bench) claim() string {
	object, ok := b.in.Store.Object(dataClaim)
	switch {
	case !ok:
		return "gone"
	case object.Claim().DeletionTimestamp != nil:
		return "held"
	}
	return string(object.Claim().Status.Phase)
}

func TestAClaimIsHeldByItsPods(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []*corev1.Pod // of one name, in turn
		want string        // once the claim is deleted
		then string        // once the pod is deleted
	}{
		{"by nobody", []*corev1.Pod{pod("web", "a:1")}, "gone", "gone"},
		{"by a pod until its teardown is through", []*corev1.Pod{pod("web", "a:1", claiming)}, "held", "held"},
		{"by a pod that waits for a name, for as long as it waits", []*corev1.Pod{pod("web", "a:1"), pod("web", "a:1", claiming)}, "held", "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.postClaim()
			for _, p := range c.pods {
				b.apply(p)
			}
			if got := b.claim(); got != "Bound" {
				t.Fatalf("the claim is %s, want Bound", got)
			}
			if err := b.in.DeleteObject(dataClaim, b.now); err != nil {
				t.Fatal(err)
			}
			if got := b.claim(); got != c.want {
				t.Errorf("after its deletion it is %s, want %s", got, c.want)
			}
			if _, err := b.in.Delete(DeleteRequest{Key: web}, b.now); err != nil {
				t.Fatal(err)
			}
			if got := b.claim(); got != c.then {
				t.Errorf("after the pod's it is %s, want %s", got, c.then)
			}
		})
	}
}

func TestAVolumeOfADriverMayGrowAndStaysWhereItLies(t *testing.T) {
	secret := func(name string) *corev1.SecretReference {
		return &corev1.SecretReference{Namespace: "default", Name: name}
	}
	volume := func(handle, size string, grows *corev1.SecretReference) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{}
		v.Name, v.Spec.Capacity = "disk", corev1.ResourceList{"storage": resource.MustParse(size)}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: handle, NodeExpandSecretRef: grows}
		return v
	}
	for _, c := range []struct {
		name      string
		old, next *corev1.PersistentVolume
		taken     bool
	}{
		{"with more capacity", volume("h", "1Gi", nil), volume("h", "2Gi", nil), true},
		{"with a Secret by which it grows", volume("h", "1Gi", nil), volume("h", "2Gi", secret("a")), true},
		{"with another such Secret", volume("h", "1Gi", secret("a")), volume("h", "1Gi", secret("b")), false},
		{"without it", volume("h", "1Gi", secret("a")), volume("h", "1Gi", nil), false},
		{"with another handle", volume("h", "1Gi", nil), volume("i", "1Gi", nil), false},
	} {
		b := newBench(t)
		b.in.Storage = storage.Keeper{NewUID: b.in.NewUID}
		if _, _, err := b.in.Apply([]Delivery{{Object: node.NewObject(c.old)}}, b.now); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.in.Apply([]Delivery{{Object: node.NewObject(c.next)}}, b.now); (err == nil) != c.taken {
			t.Errorf("it is posted again %s: got %v", c.name, err)
		}
	}
}

func TestAWaitingPodThatIsPreemptedHoldsNoClaim(t *testing.T) {
	b := newBench(t)
	b.postClaim()
	b.apply(pod("web", "a:1"))
	b.apply(pod("web", "a:1", claiming))
	if err := b.in.DeleteObject(dataClaim, b.now); err != nil {
		t.Fatal(err)
	}
	if got := b.claim(); got != "held" {
		t.Fatalf("the claim is %s, want it held by the pod that waits", got)
	}
	b.apply(pod("web", "a:2"))
	if got := b.claim(); got != "gone" {
		t.Errorf("once another waits in its place the claim is %s, want it gone", got)
	}
}
