package volume

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestEmptyDirOnTheDisk(t *testing.T) {
	b := newBench(t)
	defer unix.Umask(unix.Umask(0o077))
	p := pod(emptyDir())
	dir := b.setUp(p)
	if got := modeAt(t, dir); got != os.ModeDir|0o777 {
		t.Errorf("its mode is %s, want 0777", got)
	}
	b.write(dir, "kept", "data")
	b.wantShown(b.setUp(p), "kept -rw------- data")
}

func TestAnEmptyDirHasTheModeThatIsAskedFor(t *testing.T) {
	for _, medium := range []corev1.StorageMedium{"", "Memory"} {
		b := newBench(t)
		p := pod(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, Mode: ptr(int32(0o1770))}})
		if got := modeAt(t, b.setUp(p)); got != os.ModeDir|os.ModeSticky|0o770 {
			t.Errorf("on %q its mode is %s, want 1770", medium, got)
		}
	}
}

func TestTheModeOfAnEmptyDirIsTheContainersToChange(t *testing.T) {
	for _, medium := range []corev1.StorageMedium{"", "Memory"} {
		b := newBench(t)
		p := groupOf(pod(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}), 5000)
		dir := b.setUp(p)
		if err := errors.Join(os.Chown(dir, 70, 70), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		again := New(b.Config) // an agent that starts
		if err := again.SetUp(t.Context(), p, "v"); err != nil {
			t.Fatal(err)
		}
		wantOwned(t, dir, 70, os.ModeDir|0o700)
	}
}

func TestAnEmptyDirThatWasHalfMadeIsMadeWhole(t *testing.T) {
	b := newBench(t)
	p := groupOf(pod(emptyDir()), 5000)
	dir := b.source(p)
	if err := os.MkdirAll(unfinished(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	b.setUp(p)
	wantOwned(t, dir, 5000, os.ModeDir|os.ModeSetgid|0o777)
}

func TestEmptyDirInMemory(t *testing.T) {
	memory := func(limit string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse(limit)}}
	}
	allOf := func(limit string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) { spec.Resources = ptr(memory(limit)) }
	}
	initially := func(r corev1.ResourceRequirements, policy *corev1.ContainerRestartPolicy) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "first", Resources: r, RestartPolicy: policy}}
		}
	}
	overhead := func(spec *corev1.PodSpec) { spec.Overhead = memory("8Mi").Limits }
	none := corev1.ResourceRequirements{}
	stays := ptr(corev1.ContainerRestartPolicyAlways)
	for _, c := range []struct {
		name      string
		sizeLimit *resource.Quantity
		main      corev1.ResourceRequirements
		of        func(*corev1.PodSpec) // what else is in its pod
		want      uint64                // MiB
	}{
		{"its own limit bounds it", ptr(resource.MustParse("8Mi")), none, nil, 8},
		{"so does the memory of its pod", nil, memory("16Mi"), nil, 16},
		{"the lesser counts", ptr(resource.MustParse("32Mi")), memory("16Mi"), nil, 16},
		{"a sidecar adds to its pod's", nil, memory("16Mi"), initially(memory("24Mi"), stays), 40},
		{"an init container has the pod's to itself", nil, memory("16Mi"), initially(memory("24Mi"), nil), 24},
		{"one without a limit bounds nothing", nil, memory("16Mi"), initially(none, nil), 64},
		{"what the pod itself needs is added", nil, memory("16Mi"), overhead, 24},
		{"a limit of the pod as a whole is its memory", nil, none, allOf("16Mi"), 16},
		{"whatever its containers say", nil, memory("8Mi"), allOf("16Mi"), 16},
		{"and at last what the node can give", nil, none, nil, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.Allocatable = func() corev1.ResourceList { return corev1.ResourceList{"memory": resource.MustParse("64Mi")} }
			p := pod(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory", SizeLimit: c.sizeLimit}})
			p.Object.Spec.Containers[0].Resources = c.main
			if c.of != nil {
				c.of(&p.Object.Spec)
			}
			dir := b.setUp(p)
			b.write(dir, "kept", "data")
			b.setUp(p)
			var stat unix.Statfs_t
			if err := unix.Statfs(dir, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC || stat.Blocks*uint64(stat.Bsize)>>20 != c.want {
				t.Errorf("type %x with %d blocks of %d, %v; want a tmpfs of %d MiB", stat.Type, stat.Blocks, stat.Bsize, err, c.want)
			}
			if got := modeAt(t, dir); got != os.ModeDir|os.ModeSticky|0o777 || !exists(filepath.Join(dir, "kept")) {
				t.Errorf("mode %s, kept is there: %t; want 1777 and the file", got, exists(filepath.Join(dir, "kept")))
			}
		})
	}
}

func TestHostPathIsAsExpected(t *testing.T) {
	host := t.TempDir()
	at := func(name string) string { return filepath.Join(host, name) }
	if err := os.WriteFile(at("file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, c := range []struct {
		name string
		kind corev1.HostPathType
		path string
		want string // the failure
	}{
		{"anything will do", "", at("none"), ""},
		{"a directory", "Directory", host, ""},
		{"a file for a directory", "Directory", at("file"), at("file") + " is not a directory"},
		{"nothing for a directory", "Directory", at("none"), at("none") + " is not a directory"},
		{"a directory is made", "DirectoryOrCreate", at("new/dir"), ""},
		{"a directory that is there is taken", "DirectoryOrCreate", host, ""},
		{"no directory is made of a file", "DirectoryOrCreate", at("file"), at("file") + " is not a directory"},
		{"a file", "File", at("file"), ""},
		{"a directory for a file", "File", host, host + " is not a file"},
		{"a file is made", "FileOrCreate", at("newfile"), ""},
		{"a file that is there is taken", "FileOrCreate", at("file"), ""},
		{"no file is made of a directory", "FileOrCreate", host, host + " is not a file"},
		{"a socket", "Socket", at("socket"), ""},
		{"a file for a socket", "Socket", at("file"), at("file") + " is not a socket file"},
		{"a character device", "CharDevice", "/dev/null", ""},
		{"a file for a character device", "CharDevice", at("file"), at("file") + " is not a character device"},
		{"a character device for a block device", "BlockDevice", "/dev/null", "/dev/null is not a block device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			p := pod(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: c.path, Type: &c.kind}})
			err := b.SetUp(t.Context(), p, "v")
			switch want := `MountVolume.SetUp failed for volume "v" : hostPath type check failed: ` + c.want; {
			case c.want == "" && err != nil:
				t.Errorf("got %v", err)
			case c.want != "" && (err == nil || err.Error() != want):
				t.Errorf("got %v, want %s", err, want)
			case c.want == "" && b.source(p) != c.path:
				t.Errorf("mounted is %s", b.source(p))
			}
		})
	}
	if got := modeAt(t, at("newfile")); got != 0o644 {
		t.Errorf("the file that was made has mode %s", got)
	}
}
