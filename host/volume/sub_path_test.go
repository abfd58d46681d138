package volume

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// part is a pod whose container mounts a part of its volume.
func partOf(source corev1.VolumeSource, subPath string) *node.Pod {
	p := pod(source)
	p.Object.Spec.Containers[0].VolumeMounts[0].SubPath = subPath
	return p
}

func TestSubPathIsMountedAlone(t *testing.T) {
	b := newBench(t)
	b.write(b.setUp(pod(emptyDir())), "a/b/file", "data")
	for subPath, want := range map[string]string{"a": "b/ -rwxr-xr-x\nb/file -rw-r--r-- data", "a/b": "file -rw-r--r-- data"} {
		b.wantShown(b.source(partOf(emptyDir(), subPath)), want)
	}
	if got := b.mounted(); len(got) != 1 {
		t.Errorf("mounted are %q; a new subPath takes the place of the old", got)
	}
	file := b.source(partOf(emptyDir(), "a/b/file"))
	if data, err := os.ReadFile(file); err != nil || string(data) != "data" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestSubPathThatIsNotThereIsMade(t *testing.T) {
	b := newBench(t)
	defer unix.Umask(unix.Umask(0o077))
	dir := b.setUp(pod(emptyDir()))
	b.wantShown(b.source(partOf(emptyDir(), "new/dir")), "")
	b.wantShown(dir, "new/ -rwxrwxrwx", "new/dir/ -rwxrwxrwx")
}

func TestSubPathThatIsMadeBelongsToTheGroup(t *testing.T) {
	for _, c := range []struct {
		name   string
		source corev1.VolumeSource
		want   fs.FileMode
	}{
		{"on the disk", emptyDir(), fs.ModeSetgid | 0o777},
		{"in memory", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}, fs.ModeSetgid | fs.ModeSticky | 0o777},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			defer unix.Umask(unix.Umask(0o077))
			wantOwned(t, b.setUp(groupOf(partOf(c.source, "new/dir"), 5000)), 5000, fs.ModeDir|c.want)
			whole := b.source(groupOf(pod(c.source), 5000))
			wantOwned(t, filepath.Join(whole, "new"), 5000, fs.ModeDir|c.want)
		})
	}
}

func TestSubPathOfContent(t *testing.T) {
	b := newBench(t)
	b.post(configMap("settings", map[string]string{"a": "1"}))
	b.setUp(pod(fromConfigMap("settings")))
	p := partOf(fromConfigMap("settings"), "a")
	for _, value := range []string{"1", "2"} { // each run of a container gets what is there now
		b.post(configMap("settings", map[string]string{"a": value}))
		if err := b.SetUp(t.Context(), p, "v"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if data, err := os.ReadFile(b.source(p)); err != nil || string(data) != value {
				t.Errorf("the file holds %q, %v; want %s", data, err, value)
			}
		}
	}
	b.wantShown(b.source(partOf(fromConfigMap("settings"), "none")), "")
	b.wantShown(b.setUp(pod(fromConfigMap("settings"))), "a -rw-r--r-- 2")
}

func TestSubPathStaysInTheVolume(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.write(outside, "secret/file", "data")
	dir := b.setUp(pod(emptyDir()))
	b.write(dir, "inside/file", "data")
	for name, target := range map[string]string{
		"absolute": outside, "up": "../../../../..", "proc": "/proc/self/root", "within": "inside", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, subPath := range []string{"absolute", "absolute/secret", "up", "up/etc", "proc", "proc/etc", "dangling/x"} {
		p := partOf(emptyDir(), subPath)
		if mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil); err == nil {
			t.Errorf("subPath %s gives %s, want an error", subPath, mounts[0].HostPath)
		}
	}
	b.wantShown(b.source(partOf(emptyDir(), "within")), "file -rw-r--r-- data")
	if got := b.mounted(); len(got) != 1 {
		t.Errorf("mounted are %q", got)
	}
	if exists(filepath.Join(outside, "etc")) || exists(filepath.Join(outside, "x")) {
		t.Error("something was made outside of the volume")
	}
}

var swaps = flag.Int("swaps", 20_000, "how many times an attacker swaps a directory for a link")

// A container may swap a directory for a link between any two steps of a lookup.
// A million swaps (-swaps 1000000) must not get it anything from outside its volume.
func TestSubPathHoldsAgainstSwaps(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.write(outside, "deep/file", "outside")
	dir := b.setUp(pod(emptyDir()))
	b.write(dir, "a/deep/file", "inside")
	if err := os.Symlink(outside, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	var lookups atomic.Int64
	done := make(chan struct{})
	go func() { // the attacker
		defer close(done)
		at, err := unix.Open(dir, unix.O_PATH, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(at)
		for swapped := 0; swapped < *swaps || lookups.Load() < 1000; swapped++ {
			if err := unix.Renameat2(at, "a", at, "b", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	p := partOf(emptyDir(), "a/deep")
	inside, refused := 0, 0
	for {
		select {
		case <-done:
			t.Logf("%d lookups found the directory, %d were refused", inside, refused)
			if inside == 0 || refused == 0 {
				t.Error("one of both never happened: the swaps were not seen")
			}
			return
		default:
		}
		mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil)
		lookups.Add(1)
		if err != nil {
			refused++
			if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EAGAIN) {
				t.Fatalf("got %v", err)
			}
			continue
		}
		inside++
		if data, err := os.ReadFile(filepath.Join(mounts[0].HostPath, "file")); err != nil || string(data) != "inside" {
			t.Fatalf("the container would read %q, %v", data, err)
		}
		b.makeAmidSwaps(outside)
	}
}

// makeAmidSwaps has a part made that is not there, wherever the swaps allow it.
func (b *bench) makeAmidSwaps(outside string) {
	b.Helper()
	p := partOf(emptyDir(), "a/made/dir")
	mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil)
	if exists(filepath.Join(outside, "made")) {
		b.Fatalf("a directory was made outside of the volume (%v)", err)
	}
	if err != nil {
		return
	}
	if err := unmount(mounts[0].HostPath); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		real := filepath.Join(b.Pods, "u1/volumes/kubernetes.io~empty-dir/v", name)
		if root, err := os.OpenRoot(real); err == nil {
			_ = root.RemoveAll("made") // the wrong one half of the time
			root.Close()
		}
	}
}
