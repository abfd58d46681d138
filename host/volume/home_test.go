package volume

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Another kubelet on the machine may have its pods in the same place.
func TestSweepPassesOverOthersPods(t *testing.T) {
	b := newBench(t)
	b.write(b.Pods, "theirs/volumes/kubernetes.io~empty-dir/v/file", "data")
	b.write(b.Pods, "file", "")
	b.setUp(pod(emptyDir()))
	if got, err := b.Own(); err != nil || !slices.Equal(got, []string{"u1"}) {
		t.Errorf("ours are %q (%v), want u1", got, err)
	}
	b.Swept = func(removed, failed int) {
		if removed != 1 || failed != 0 {
			t.Errorf("%d were removed and %d not, want ours removed", removed, failed)
		}
	}
	if err := b.Sweep(t.Context(), keepNone); err != nil || exists(filepath.Join(b.Pods, "u1")) {
		t.Errorf("got %v, want ours gone", err)
	}
	b.Swept = nil
	b.wantShown(b.Pods, "file -rw-r--r-- ", "theirs/ -rwxr-xr-x", "theirs/volumes/ -rwxr-xr-x",
		"theirs/volumes/kubernetes.io~empty-dir/ -rwxr-xr-x", "theirs/volumes/kubernetes.io~empty-dir/v/ -rwxr-xr-x",
		"theirs/volumes/kubernetes.io~empty-dir/v/file -rw-r--r-- data")
}

// A pod of this node is torn down wherever its directory comes from, and once taken over
// it is swept like the rest.
func TestAPodThatIsTakenOverIsOurs(t *testing.T) {
	b := newBench(t)
	for _, uid := range []types.UID{"u1", "u2"} {
		b.write(b.Pods, string(uid)+"/volumes/kubernetes.io~empty-dir/v/file", "data")
		p := pod(emptyDir())
		p.Object.UID = uid
		b.setUp(p)
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil || exists(filepath.Join(b.Pods, "u1")) {
		t.Errorf("torn down: %v, want it gone", err)
	}
	for _, uid := range []types.UID{"u2", "u2", "none"} {
		if err := b.Adopt(uid); err != nil {
			t.Errorf("adopt %s: %v", uid, err)
		}
	}
	if got := modeAt(t, filepath.Join(b.Pods, "u2")); got != os.ModeDir|Ours|0o755 {
		t.Errorf("its mode is %s, want it as it was and marked", got)
	}
	if err := b.Sweep(t.Context(), keepNone); err != nil || exists(filepath.Join(b.Pods, "u2")) {
		t.Errorf("swept: %v, want it gone", err)
	}
}

// A pod may have nothing but parts of the host's directories.
func TestPartsLieInAMarkedDirectory(t *testing.T) {
	b := newBench(t)
	p := pod(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: t.TempDir()}})
	p.Object.Spec.Containers[0].VolumeMounts[0].SubPath = "part"
	b.setUp(p)
	if got := modeAt(t, filepath.Join(b.Pods, "u1")); got != os.ModeDir|Ours|0o750 {
		t.Errorf("the pod's directory has the mode %s", got)
	}
}
