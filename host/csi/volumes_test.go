package csi

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// call notes a call, does what it does, and returns its error.
func (f *fake) call(name, path string) error {
	f.called = append(f.called, name)
	if f.do != nil {
		f.do(name, path)
	}
	return f.fails[name]
}

func (f *fake) NodeStageVolume(_ context.Context, r *csiapi.NodeStageVolumeRequest) (*csiapi.NodeStageVolumeResponse, error) {
	f.stagedBy = r.GetPublishContext()
	return &csiapi.NodeStageVolumeResponse{}, f.call("stage", r.GetStagingTargetPath())
}

func (f *fake) NodeUnstageVolume(_ context.Context, r *csiapi.NodeUnstageVolumeRequest) (*csiapi.NodeUnstageVolumeResponse, error) {
	return &csiapi.NodeUnstageVolumeResponse{}, f.call("unstage", r.GetStagingTargetPath())
}

func (f *fake) NodePublishVolume(_ context.Context, r *csiapi.NodePublishVolumeRequest) (*csiapi.NodePublishVolumeResponse, error) {
	f.publishedBy = r.GetPublishContext()
	return &csiapi.NodePublishVolumeResponse{}, f.call("publish", r.GetTargetPath())
}

func (f *fake) NodeUnpublishVolume(_ context.Context, r *csiapi.NodeUnpublishVolumeRequest) (*csiapi.NodeUnpublishVolumeResponse, error) {
	return &csiapi.NodeUnpublishVolumeResponse{}, f.call("unpublish", r.GetTargetPath())
}

func (f *fake) NodeGetVolumeStats(_ context.Context, r *csiapi.NodeGetVolumeStatsRequest) (*csiapi.NodeGetVolumeStatsResponse, error) {
	if r.GetVolumeId() != "a/../b" || !strings.HasSuffix(r.GetStagingTargetPath(), "/globalmount") {
		return nil, errors.New("another volume")
	}
	return &csiapi.NodeGetVolumeStatsResponse{Usage: f.usage}, f.call("use", r.GetVolumePath())
}

// bench is a node with one driver, which mounts file systems in memory.
type bench struct {
	t *testing.T
	*Volumes
	*fake
	pv   *corev1.PersistentVolume
	pub  node.Publication
	more []string // capabilities
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	f := &fake{name: "disk", fails: map[string]error{}}
	f.do = func(call, path string) {
		switch call {
		case "stage", "publish":
			if err := errors.Join(os.MkdirAll(path, 0o750), unix.Mount("tmpfs", path, "tmpfs", 0, "size=4k")); err != nil {
				t.Error(err)
			}
		default:
			for unix.Unmount(path, 0) == nil { // all of them
			}
		}
	}
	at := serve(t, f)
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "a/../b"}
	root := t.TempDir()
	t.Cleanup(func() {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = unix.Unmount(path, unix.MNT_DETACH)
			}
			return nil
		})
	})
	b := &bench{t: t, fake: f, pv: pv, pub: node.Publication{
		Pod:    &corev1.Pod{},
		Volume: pv, Path: filepath.Join(root, "pods/u1/volumes/kubernetes.io~csi/pv/mount"), Hand: func(string) error { return nil },
	}}
	b.Volumes = New(Config{
		Dir: filepath.Join(root, "plugins"), Pods: filepath.Join(root, "pods"),
		Driver: func(name string) (node.Plugin, bool) {
			info := node.PluginInfo{Name: name, Endpoint: at, Driver: &node.CSIDriver{Capabilities: append([]string{node.StagesVolumes}, b.more...)}}
			return node.Plugin{Info: info}, name == "disk"
		},
	})
	return b
}

// again is the next agent.
func (b *bench) again() {
	b.Volumes = New(b.Config)
	b.patience = 100 * time.Millisecond
}

func (b *bench) stage() error   { return b.Stage(b.t.Context(), b.pv, nil) }
func (b *bench) publish() error { return b.Publish(b.t.Context(), b.pub) }
func (b *bench) unstage() error {
	id, _ := node.CSIVolumeOf(b.pv)
	return b.Unstage(b.t.Context(), id)
}
func (b *bench) unpublish() error { return b.Unpublish(b.t.Context(), b.pub.Path) }

func TestVolumesGoOnWhereACrashHasLeftThem(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		name string
		do   func(b *bench) error
		want string // calls in order, by their first letters; capital: unpublish, unstage
		err  string
	}{
		{"all of it", func(b *bench) error {
			return errors.Join(b.stage(), b.publish(), b.unpublish(), b.unstage())
		}, "spPS", ""},
		{"nothing is done twice", func(b *bench) error {
			return errors.Join(b.stage(), b.stage(), b.publish(), b.publish(), b.unpublish(), b.unpublish(), b.unstage(), b.unstage())
		}, "spPS", ""},
		{"the next agent finds it", func(b *bench) error {
			err := errors.Join(b.stage(), b.publish())
			b.again()
			return errors.Join(err, b.stage(), b.publish(), b.unpublish(), b.unstage())
		}, "spPS", ""},
		{"a pod that has its volume needs no driver", func(b *bench) error {
			err := errors.Join(b.stage(), b.publish())
			there := b.Driver
			b.Driver = func(string) (node.Plugin, bool) { return node.Plugin{}, false }
			b.again()
			err = errors.Join(err, b.publish())
			b.Driver = there
			return errors.Join(err, b.unpublish(), b.unstage())
		}, "spPS", ""},
		{"a stage that fails after its effect is repeated", func(b *bench) error {
			b.fails["stage"] = bad
			if b.stage() == nil {
				t.Error("it does not fail")
			}
			b.again()
			delete(b.fails, "stage")
			return errors.Join(b.stage(), b.publish(), b.unpublish(), b.unstage())
		}, "sspPS", ""},
		{"and so is a publication", func(b *bench) error {
			b.fails["publish"] = bad
			if err := errors.Join(b.stage()); err != nil || b.publish() == nil {
				t.Error("it does not fail")
			}
			b.again()
			delete(b.fails, "publish")
			return errors.Join(b.publish(), b.unpublish(), b.unstage())
		}, "sppPS", ""},
		{"what a pod has is not unstaged", func(b *bench) error {
			err := errors.Join(b.stage(), b.publish())
			b.again()
			return errors.Join(err, b.unstage())
		}, "sp", "a pod still has it, at u1/volumes/kubernetes.io~csi/pv"},
		{"what cannot be staged is not published", func(b *bench) error {
			b.fails["stage"] = bad
			return errors.Join(b.stage(), b.publish())
		}, "s", `MountVolume.MountDevice failed for volume "pv" : rpc error: code = Unknown desc = bad`},
		{"a driver that leaves its mount", func(b *bench) error {
			err := errors.Join(b.stage(), b.publish())
			b.do = nil
			return errors.Join(err, b.unpublish())
		}, "spP", "something is still mounted"},
		{"a driver that is away", func(b *bench) error {
			b.pv.Spec.CSI.Driver = "other"
			return errors.Join(b.stage(), b.publish())
		}, "", "driver name other not found in the list of registered CSI drivers"},
	} {
		b := newBench(t)
		err := c.do(b)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.err)
		}
		letters := map[string]string{"stage": "s", "publish": "p", "unpublish": "P", "unstage": "S"}
		got := ""
		for _, call := range b.called {
			got += letters[call]
		}
		if got != c.want {
			t.Errorf("%s: the driver has heard %q, want %q", c.name, got, c.want)
		}
		if c.err != "" {
			continue
		}
		var left []string
		_ = filepath.WalkDir(filepath.Dir(b.Dir), func(path string, d fs.DirEntry, _ error) error {
			if d.Name() == tagName || d.Name() == stagedAt || d.Name() == "mount" {
				left = append(left, path)
			}
			return nil
		})
		if len(left) > 0 || len(b.Known()) > 0 {
			t.Errorf("%s: left are %q and %v", c.name, left, b.Known())
		}
	}
}

func TestAccessModesAreToldInTheWordsOfCSI(t *testing.T) {
	for _, c := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		tells bool
		want  string
	}{
		{corev1.ReadWriteOnce, false, "SINGLE_NODE_WRITER"},
		{corev1.ReadWriteOnce, true, "SINGLE_NODE_MULTI_WRITER"},
		{corev1.ReadWriteOncePod, false, "SINGLE_NODE_WRITER"},
		{corev1.ReadWriteOncePod, true, "SINGLE_NODE_SINGLE_WRITER"},
		{corev1.ReadOnlyMany, true, "MULTI_NODE_READER_ONLY"},
		{corev1.ReadWriteMany, true, "MULTI_NODE_MULTI_WRITER"},
	} {
		pv := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{c.mode}}}
		if got := accessMode(pv, c.tells).String(); got != c.want {
			t.Errorf("%s, of a driver that tells writers: %t: got %s, want %s", c.mode, c.tells, got, c.want)
		}
	}
}

func TestADriverMountsForTheGroupIfItCan(t *testing.T) {
	gid, pv := int64(5000), &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{}
	for _, able := range [][]string{nil, {node.MountsForGroup}} {
		got := capability(pv, &node.CSIDriver{Capabilities: able}, &gid).GetMount().GetVolumeMountGroup()
		if (got == "5000") != slices.Contains(able, node.MountsForGroup) {
			t.Errorf("a driver that can %q is told of group %q", able, got)
		}
	}
}

func TestAVolumeOfAClusterWaitsUntilItIsAttached(t *testing.T) {
	b := newBench(t)
	b.pv.Annotations = map[string]string{node.AnnotationFrom: node.Cluster}
	const want = `volume "pv" is not attached to this node by its cluster`
	for what, do := range map[string]func() error{"stage": b.stage, "publish": b.publish} {
		if err := do(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	b.pv.Annotations[node.AnnotationAttached] = `{"device":"xvdq"}`
	if err := errors.Join(b.stage(), b.publish()); err != nil {
		t.Fatal(err)
	}
	for what, told := range map[string]map[string]string{"stage": b.stagedBy, "publish": b.publishedBy} {
		if told["device"] != "xvdq" {
			t.Errorf("%s: the driver is told %q of how the volume is attached", what, told)
		}
	}
}

func TestAVolumeIsUnstagedOnceAFinishedPodHasGivenItBack(t *testing.T) {
	b := newBench(t)
	if err := errors.Join(b.stage(), b.publish()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- b.unstage() }()
	select {
	case err := <-ended:
		t.Fatalf("it is unstaged below the pod: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(b.unpublish(), <-ended); err != nil || b.called[len(b.called)-1] != "unstage" {
		t.Errorf("got %v after %q", err, b.called)
	}
}

func TestAVolumeIsHeldFromTheFirstCallToTheLast(t *testing.T) {
	for _, stages := range []bool{true, false} {
		b := newBench(t)
		there := b.Driver
		b.Driver = func(name string) (node.Plugin, bool) {
			p, ok := there(name)
			if !stages {
				p.Info.Driver = &node.CSIDriver{}
			}
			return p, ok
		}
		var during []int
		mounts := b.do
		b.do = func(call, path string) {
			during = append(during, len(b.Held()))
			mounts(call, path)
		}
		do := []func() error{b.publish, b.unpublish}
		if stages {
			do = []func() error{b.stage, b.publish, b.unpublish, b.unstage}
		}
		if len(b.Held()) > 0 {
			t.Errorf("before the first call %v are held", b.Held())
		}
		for i, call := range do {
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if last := i == len(do)-1; len(b.Held()) > 0 == last {
				t.Errorf("a driver that stages: %t: after %d calls %v are held", stages, i+1, b.Held())
			}
			b.again()
			if last := i == len(do)-1; len(b.Held()) > 0 == last {
				t.Errorf("a driver that stages: %t: after %d calls the next agent holds %v", stages, i+1, b.Held())
			}
		}
		if slices.Contains(during, 0) || len(during) != len(do) {
			t.Errorf("during its calls %v volumes are held, want one", during)
		}
	}
}

func TestADriverIsToldOfThePodIfItAsksForIt(t *testing.T) {
	pv := &corev1.PersistentVolume{}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{VolumeAttributes: map[string]string{"color": "red", "csi.storage.k8s.io/pod.name": "forged"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}, Spec: corev1.PodSpec{ServiceAccountName: "robot"}}
	whole := map[string]string{
		"color": "red", "csi.storage.k8s.io/pod.name": "web", "csi.storage.k8s.io/pod.namespace": "ns", "csi.storage.k8s.io/pod.uid": "u1",
		"csi.storage.k8s.io/serviceAccount.name": "robot", "csi.storage.k8s.io/ephemeral": "false",
	}
	none := map[string]string{"color": "red"}
	inline := maps.Clone(whole)
	inline["csi.storage.k8s.io/ephemeral"] = "true"
	for _, c := range []struct {
		name   string
		terms  *storagev1.CSIDriverSpec
		inline bool
		want   map[string]string
	}{
		{"it asks", &storagev1.CSIDriverSpec{PodInfoOnMount: new(true)}, false, whole},
		{"it asks, for a volume of the pod alone", &storagev1.CSIDriverSpec{PodInfoOnMount: new(true)}, true, inline},
		{"it does not", &storagev1.CSIDriverSpec{PodInfoOnMount: new(false)}, false, none},
		{"it says nothing", nil, false, none},
	} {
		if got := attributes(node.Publication{Volume: pv, Pod: pod, Terms: c.terms, Inline: c.inline}); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestAnInlineVolumeIsPublishedWithoutAStage(t *testing.T) {
	b := newBench(t)
	b.pub.Inline = true
	if err := b.publish(); err == nil || !strings.Contains(err.Error(), `volume mode "Ephemeral" not supported by driver disk (no CSIDriver object)`) {
		t.Errorf("without an object of its driver: got %v", err)
	}
	b.pub.Terms = &storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}}
	if err := b.publish(); err != nil {
		t.Fatal(err)
	}
	b.again()
	b.pub.Terms = nil // the pod keeps what it has
	if err := errors.Join(b.publish(), b.unpublish()); err != nil || !slices.Equal(b.called, []string{"publish", "unpublish"}) || len(b.Held()) > 0 {
		t.Errorf("got %v after %q, and %v are held", err, b.called, b.Held())
	}
}

// A driver may make a device or a link where another one mounts: both are devices of the pod.
func TestADeviceIsPublishedHoweverItsDriverDoesThat(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"a mount": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o640), unix.Mount("/dev/null", path, "", unix.MS_BIND, ""))
		},
		"a link": func(path string) error { return os.Symlink("/dev/null", path) },
	} {
		b := newBench(t)
		b.pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		b.do = func(call, path string) {
			var err error
			switch call {
			case "publish":
				err = do(path)
			case "unpublish":
				_ = unix.Unmount(path, 0)
				err = os.Remove(path)
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(b.stage(), b.publish()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.again()
		if err := errors.Join(b.publish(), b.unpublish(), b.unstage()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := []string{"stage", "publish", "unpublish", "unstage"}; !slices.Equal(b.called, want) || len(b.Held()) > 0 {
			t.Errorf("%s: the driver has heard %q, want %q; %v are held", name, b.called, want, b.Held())
		}
	}
}

func TestADeviceHasNoFileSystem(t *testing.T) {
	pv := &corev1.PersistentVolume{}
	pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{FSType: "ext4"}
	if got := capability(pv, nil, new(int64(5000))); got.GetBlock() == nil || got.GetMount() != nil {
		t.Errorf("the driver is told %v, want a device", got)
	}
}
