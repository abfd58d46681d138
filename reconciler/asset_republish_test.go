package reconciler

import (
	"iter"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/store"
)

func TestWhichVolumesArePublishedAgain(t *testing.T) {
	clock, err := store.OpenClock(unkept{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(unkept{}, clock)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.VolumeName, claim.Status.Phase = "pv", corev1.ClaimBound
	lasting := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	lasting.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h"}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	object.Spec.Volumes = []corev1.Volume{
		{Name: "claimed", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "inline", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "disk"}}},
		{Name: "other", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "other"}}},
		{Name: "unused", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "disk"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	main := corev1.Container{Name: "main", Image: "app"}
	for _, name := range []string{"claimed", "inline", "other", "scratch"} {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	object.Spec.Containers = []corev1.Container{main}
	pod := &node.Pod{Object: object}
	wanted := func(requires bool, result *corev1.PodStatus) []Wanted[node.PublishedVolume] {
		t.Helper()
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: storagev1.CSIDriverSpec{RequiresRepublish: &requires}}
		if _, err := s.Transact(func(tx *store.Tx) error {
			for _, value := range []node.Value{claim, lasting, driver} {
				tx.PutObject(node.NewObject(value))
			}
			tx.Put(pod.Key(), &node.Slot{Pod: pod, Result: result})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		looked := false
		pods := iter.Seq[*node.Pod](func(yield func(*node.Pod) bool) { looked = true; yield(pod) })
		got := PublishedVolumes(Republishing(s), DrivenOf(s), nil, publications{}).Wanted(pods)
		if looked != requires {
			t.Errorf("a driver wants that: %t; pods were looked through: %t", requires, looked)
		}
		return got
	}
	if got := wanted(false, nil); len(got) > 0 {
		t.Errorf("its driver does not want that: got %+v", got)
	}
	want := []Wanted[node.PublishedVolume]{
		{Name: "u1/claimed", Want: node.PublishedVolume{Pod: pod, Name: "claimed"}}, {Name: "u1/inline", Want: node.PublishedVolume{Pod: pod, Name: "inline"}},
	}
	if got := wanted(true, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := wanted(true, &corev1.PodStatus{Phase: corev1.PodSucceeded}); len(got) > 0 {
		t.Errorf("the pod has finished: got %+v", got)
	}
}

// unkept is a journal that keeps nothing.
type unkept struct{}

func (unkept) Commit(...store.Record) error         { return nil }
func (unkept) CommitReserved(...store.Record) error { return nil }

// publications are of no driver.
type publications struct{ Publications }
