package volume

import (
	"io/fs"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// groupOf is a pod whose volumes belong to a group.
func groupOf(p *node.Pod, gid int64) *node.Pod {
	p.Object.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &gid}
	return p
}

func wantOwned(t *testing.T, path string, gid uint32, mode fs.FileMode) {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		t.Fatal(err)
	}
	if got := modeAt(t, path); stat.Gid != gid || got != mode {
		t.Errorf("%s has group %d and mode %s, want %d and %s", path, stat.Gid, got, gid, mode)
	}
}

func TestTheGroupOfAPodMayUseItsVolumes(t *testing.T) {
	for _, c := range []struct {
		name   string
		source corev1.VolumeSource
		want   fs.FileMode
	}{
		{"what is empty it may write", emptyDir(), 0o777},
		{"also where others may not", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Mode: ptr(int32(0o700))}}, 0o770},
		{"and in memory", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}, fs.ModeSticky | 0o777},
		{"also there where others may not", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory", Mode: ptr(int32(0o1700))}}, fs.ModeSticky | 0o770},
		{"content it may read", fromConfigMap("settings"), 0o755},
		{"and secrets", fromSecret("login"), 0o755},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.post(configMap("settings", map[string]string{"a": "1"}), secret("login", map[string]string{"a": "1"}))
			for range 2 { // the second time it is as it should be
				dir := b.setUp(groupOf(pod(c.source), 5000))
				wantOwned(t, dir, 5000, fs.ModeDir|fs.ModeSetgid|c.want)
			}
		})
	}
}

func TestTheGroupOfAPodMayReadItsFiles(t *testing.T) {
	b := newBench(t)
	b.post(configMap("settings", map[string]string{"a": "1", "b": "2"}))
	source := fromConfigMap("settings", corev1.KeyToPath{Key: "a", Path: "deep/a"}, corev1.KeyToPath{Key: "b", Path: "b", User: ptr(int64(7))})
	source.ConfigMap.DefaultMode = ptr(int32(0o400))
	dir := b.setUp(groupOf(pod(source), 5000))
	for _, name := range []string{"deep/a", "b"} {
		wantOwned(t, filepath.Join(dir, dataLink, name), 5000, 0o440)
	}
	b.setUp(pod(source))
	wantOwned(t, filepath.Join(dir, dataLink, "b"), 0, 0o400)
}

func TestMountsTellThePropagationThatIsAskedFor(t *testing.T) {
	b := newBench(t)
	p := pod(emptyDir())
	b.setUp(p)
	container := &p.Object.Spec.Containers[0]
	for mode, want := range map[corev1.MountPropagationMode]string{
		corev1.MountPropagationNone:            "PROPAGATION_PRIVATE",
		corev1.MountPropagationHostToContainer: "PROPAGATION_HOST_TO_CONTAINER",
		corev1.MountPropagationBidirectional:   "PROPAGATION_BIDIRECTIONAL",
	} {
		container.VolumeMounts[0].MountPropagation = &mode
		mounts, err := b.Mounts(p, container, nil)
		if err != nil || mounts[0].Propagation.String() != want {
			t.Errorf("%s: got %v, %v; want %s", mode, mounts, err, want)
		}
	}
}

func TestMountsAreReadOnlyAllTheWayDown(t *testing.T) {
	b := newBench(t)
	p := pod(emptyDir())
	b.setUp(p)
	container := &p.Object.Spec.Containers[0]
	for mode, want := range map[corev1.RecursiveReadOnlyMode]bool{
		corev1.RecursiveReadOnlyDisabled: false, corev1.RecursiveReadOnlyEnabled: true, corev1.RecursiveReadOnlyIfPossible: true,
	} {
		container.VolumeMounts[0].ReadOnly, container.VolumeMounts[0].RecursiveReadOnly = true, &mode
		mounts, err := b.Mounts(p, container, nil)
		if err != nil || !mounts[0].Readonly || mounts[0].RecursiveReadOnly != want {
			t.Errorf("%s: got %v, %v; want recursive: %t", mode, mounts, err, want)
		}
	}
}
