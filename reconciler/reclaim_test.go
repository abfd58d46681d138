package reconciler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/storage"
)

func (b *bench) postClaim(class string) {
	b.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
	if _, _, err := b.intake.Apply([]intake.Delivery{{Object: node.NewObject(c)}}, time.Now()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) deleteClaim() {
	b.Helper()
	ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
	if err := b.intake.DeleteObject(ref, time.Now()); err != nil {
		b.Fatal(err)
	}
}

// volumesLeft are the PersistentVolumes that are known, with their phases.
func (b *bench) volumesLeft() string {
	var left []string
	volumes, _ := b.store.Objects(node.PersistentVolume)
	for _, o := range volumes {
		left = append(left, string(o.Volume().Status.Phase))
	}
	return strings.Join(left, " ")
}

func withClaim(object *corev1.Pod) *corev1.Pod {
	object.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	object.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	return object
}

func TestAClaimInUseIsProtectedAndThenGivenBack(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.postClaim(storage.LocalClass)
		b.apply(withClaim(pod("web")))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		volumes, _ := b.store.Objects(node.PersistentVolume)
		name := volumes[0].Volume().Name
		b.volumes.miss(name, true) // its files cannot be removed
		b.deleteClaim()
		b.rest(10 * time.Minute)
		b.wantState("web", "Running running restarts=0 ready=true")
		if got := b.volumesLeft(); got != "Bound" {
			t.Errorf("the volumes are %q, want it bound as long as the pod is there", got)
		}

		b.delete("web", time.Second)
		b.rest(10 * time.Second)
		b.wantGone("web")
		if got := b.volumesLeft(); got != "Released" {
			t.Errorf("the volumes are %q, want it to stay until its files are gone", got)
		}
		b.stop()
		b.volumes.miss(name, false)
		b.start() // a crash forgets nothing
		b.rest(time.Second)
		if got := b.volumesLeft(); got != "" || !slices.Equal(b.volumes.reclaimed, []string{name}) {
			t.Errorf("left are %q, given back is %q; want %s", got, b.volumes.reclaimed, name)
		}
	})
}

func TestAFailedReclaimIsTriedAgain(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.postClaim(storage.LocalClass)
		volumes, _ := b.store.Objects(node.PersistentVolume)
		name := volumes[0].Volume().Name
		b.volumes.miss(name, true)
		b.deleteClaim()
		b.rest(time.Second)
		if told := b.reasons(func(*node.Event) bool { return true }); !strings.Contains(told, node.VolumeFailedDelete) {
			t.Errorf("events are %s, want %s among them", told, node.VolumeFailedDelete)
		}
		b.volumes.miss(name, false)
		b.rest(2 * time.Minute)
		if got := b.volumesLeft(); got != "" {
			t.Errorf("left are %q", got)
		}
	})
}

func TestVolumesToRetainKeepTheirFiles(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.postClaim(storage.LocalRetainClass)
		b.deleteClaim()
		b.rest(10 * time.Minute)
		if got := b.volumesLeft(); got != "Released" || len(b.volumes.reclaimed) > 0 {
			t.Errorf("left are %q, given back is %q", got, b.volumes.reclaimed)
		}
	})
}
