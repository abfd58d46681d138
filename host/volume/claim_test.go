package volume

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// bound posts a claim called data and the volume it is bound to.
func (b *bench) bound(source corev1.PersistentVolumeSource, made bool) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec:       corev1.PersistentVolumeSpec{PersistentVolumeSource: source},
	}
	if made {
		v.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": "nodal-local"}
	}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	c.Spec.VolumeName, c.Status.Phase = v.Name, corev1.ClaimBound
	b.post(node.NewObject(v), node.NewObject(c))
	return v
}

func local(path string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}
}

func fromClaim() corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
}

func TestALocalVolumeIsSharedAndOutlivesItsPods(t *testing.T) {
	b := newBench(t)
	disk := t.TempDir()
	b.bound(local(disk), false)
	for _, uid := range []string{"u1", "u2"} {
		p := pod(fromClaim())
		p.Object.UID = types.UID(uid)
		for range 2 { // the second time it is there
			b.write(b.setUp(p), uid, "data")
		}
	}
	b.wantShown(disk, "u1 -rw-r--r-- data", "u2 -rw-r--r-- data")
	if got := b.mounted(); len(got) != 2 {
		t.Errorf("mounted are %q, want one for each pod", got)
	}
	for _, uid := range []string{"u1", "u2"} {
		if err := b.TearDown(t.Context(), types.UID(uid)); err != nil {
			t.Fatal(err)
		}
	}
	b.wantShown(disk, "u1 -rw-r--r-- data", "u2 -rw-r--r-- data")
}

func TestAClaimMayBeOfAHostPath(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "new")
	create := corev1.HostPathDirectoryOrCreate
	b.bound(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &create}}, false)
	if got := b.setUp(pod(fromClaim())); got != path || !exists(path) {
		t.Errorf("mounted is %s, want %s", got, path)
	}
}

func TestAReadOnlyClaimIsMountedReadOnly(t *testing.T) {
	b := newBench(t)
	b.bound(local(t.TempDir()), false)
	source := fromClaim()
	source.PersistentVolumeClaim.ReadOnly = true
	p := pod(source)
	b.setUp(p)
	if mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil); err != nil || !mounts[0].Readonly {
		t.Errorf("got %v, %v", mounts, err)
	}
}

func TestTheNodeMakesAndRemovesItsOwnVolumes(t *testing.T) {
	b := newBench(t)
	b.Local = filepath.Join(t.TempDir(), "local")
	path := filepath.Join(b.Local, "disk")
	v := b.bound(local(path), true)
	b.write(b.setUp(pod(fromClaim())), "file", "data")
	wantOwned(t, path, 0, fs.ModeDir|0o777)
	wantOwned(t, b.Local, 0, fs.ModeDir|0o700)
	// What a container does to its volume stays.
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	b.setUp(pod(fromClaim()))
	wantOwned(t, path, 0, fs.ModeDir|0o700)
	b.wantShown(path, "file -rw-r--r-- data")

	if err := b.TearDown(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	b.write(b.Local, ".new-disk/half", "") // a crash while it was made
	for _, want := range []bool{true, false} {
		if left, err := b.Left(t.Context(), v); left != want || err != nil {
			t.Errorf("files are left: %t, %v, want %t", left, err, want)
		}
		if err := b.Reclaim(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(b.Local); err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

func TestNothingElseIsMadeOrRemoved(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.Local = filepath.Join(outside, "local")
	b.write(outside, "kept/file", "data")
	for _, path := range []string{filepath.Join(outside, "kept"), b.Local + "/../kept", b.Local, "/"} {
		v := b.bound(local(path), true)
		if err := b.Reclaim(t.Context(), v); err == nil {
			t.Errorf("%s was removed", path)
		}
		if _, err := b.Left(t.Context(), v); err == nil {
			t.Errorf("%s was looked at", path)
		}
		if err := b.SetUp(t.Context(), pod(fromClaim()), "v"); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if !exists(filepath.Join(outside, "kept/file")) {
		t.Error("a file of the host was removed")
	}
}

func TestAPodSaysForWhichClaimItWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*bench)
		want   string
	}{
		{"it is not there", func(b *bench) { clear(b.objects) }, `persistentvolumeclaim "data" not found`},
		{"it is not bound", func(b *bench) { b.claim().Status.Phase = corev1.ClaimPending }, `persistentvolumeclaim "data" is not bound to a volume`},
		{"its volume is gone", func(b *bench) { b.claim().Spec.VolumeName = "other" }, `persistentvolume "other" of persistentvolumeclaim "data" not found`},
		{"it is being deleted", func(b *bench) { b.claim().DeletionTimestamp = &metav1.Time{} }, errEnding.Error()},
		{"the directory is not there", func(b *bench) {
			b.bound(local("/nowhere"), false)
		}, "look at the directory of the volume: stat /nowhere: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.bound(local(t.TempDir()), false)
			c.change(b)
			err := b.SetUp(t.Context(), pod(fromClaim()), "v")
			if want := `MountVolume.SetUp failed for volume "v" : ` + c.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func (b *bench) claim() *corev1.PersistentVolumeClaim {
	return b.objects[node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}].Claim()
}

func TestAnEphemeralVolumeIsItsPodsAlone(t *testing.T) {
	b := newBench(t)
	b.bound(local(t.TempDir()), false)
	b.claim().Name = "web-v"
	b.post(node.NewObject(b.claim()))
	p := pod(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})
	if err := b.SetUp(t.Context(), p, "v"); err == nil || !strings.Contains(err.Error(), "pod is not owner") {
		t.Errorf("got %v, want that the claim is another's", err)
	}
	b.claim().OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p.Object, corev1.SchemeGroupVersion.WithKind("Pod"))}
	b.setUp(p)
}

func TestTheGroupGetsTheFilesInAVolume(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for _, c := range []struct {
		name   string
		policy *corev1.PodFSGroupChangePolicy
		root   bool // is the group's already
		want   uint32
	}{
		{"always", nil, true, 5000},
		{"on a mismatch of the root", new(corev1.FSGroupChangeOnRootMismatch), false, 5000},
		{"not where the root is the group's", new(corev1.FSGroupChangeOnRootMismatch), true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			disk := t.TempDir()
			b.write(disk, "a/b/file", "data")
			b.write(filepath.Dir(outside), "outside", "data")
			for _, err := range []error{
				os.Symlink(outside, filepath.Join(disk, "a/link")), os.Chmod(filepath.Join(disk, "a/b/file"), 0o600),
				unix.Mkfifo(filepath.Join(disk, "pipe"), 0o600),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.root {
				if err := os.Lchown(disk, -1, 5000); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(disk, os.ModeSetgid|0o770); err != nil {
					t.Fatal(err)
				}
			}
			b.bound(local(disk), false)
			p := groupOf(pod(fromClaim()), 5000)
			p.Object.Spec.SecurityContext.FSGroupChangePolicy = c.policy
			b.setUp(p)
			if c.want == 0 {
				wantOwned(t, filepath.Join(disk, "a/b/file"), 0, 0o600)
				return
			}
			wantOwned(t, disk, c.want, fs.ModeDir|fs.ModeSetgid|modeAt(t, disk).Perm()|0o770)
			wantOwned(t, filepath.Join(disk, "a/b"), c.want, fs.ModeDir|fs.ModeSetgid|0o775)
			wantOwned(t, filepath.Join(disk, "a/b/file"), c.want, 0o660)
			wantOwned(t, filepath.Join(disk, "pipe"), c.want, fs.ModeNamedPipe|0o660)
			wantOwned(t, outside, 0, 0o644)
		})
	}
}
