package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// drivers note what is asked of them.
type drivers struct {
	calls []string
	last  node.Publication
	fails error
	then  func()
}

func (d *drivers) Publish(_ context.Context, p node.Publication) error {
	d.calls, d.last = append(d.calls, "publish "+p.Path), p
	return errors.Join(d.fails, os.MkdirAll(p.Path, 0o750))
}

func (d *drivers) Republish(_ context.Context, p node.Publication) error {
	d.calls, d.last = append(d.calls, "republish "+p.Path), p
	return d.fails
}

func (d *drivers) Published(path string) (time.Time, error) {
	d.calls = append(d.calls, "published "+path)
	return time.Unix(1, 0), d.fails
}

func (d *drivers) Unpublish(_ context.Context, path string) error {
	d.calls = append(d.calls, "unpublish "+path)
	if d.then != nil {
		d.then()
	}
	return d.fails
}

// driven is a bench with drivers, a pod with a volume of theirs, and the place of that.
func driven(t *testing.T) (*bench, *drivers, *node.Pod, string) {
	t.Helper()
	b, d := newBench(t), &drivers{}
	b.CSI = d
	b.bound(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h"}}, false)
	p := pod(fromClaim())
	at := b.setUp(p)
	if want := filepath.Join(b.Pods, "u1/volumes/kubernetes.io~csi/disk/mount"); at != want || !slices.Equal(d.calls, []string{"publish " + want}) {
		t.Fatalf("the volume lies at %s and %q was asked, want it published at %s", at, d.calls, want)
	}
	d.calls = nil
	return b, d, p, at
}

// No controller learns from the volume that it is only read, as no volume is attached. So the driver learns it here.
func TestAVolumeIsPublishedReadOnlyIfItOrItsClaimSaysSo(t *testing.T) {
	for _, c := range []struct{ volume, claim, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		b, d := newBench(t), &drivers{}
		b.CSI = d
		b.bound(corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h", ReadOnly: c.volume}}, false)
		source := fromClaim()
		source.PersistentVolumeClaim.ReadOnly = c.claim
		b.setUp(pod(source))
		if d.last.ReadOnly != c.want {
			t.Errorf("the volume says %t and the claim %t: it is published with readonly %t", c.volume, c.claim, d.last.ReadOnly)
		}
	}
}

func TestADriverTakesItsVolumeBeforeTheDirectoryGoes(t *testing.T) {
	b, d, _, at := driven(t)
	d.fails = errors.New("it does not answer")
	if err := b.TearDown(t.Context(), "u1"); err == nil || !strings.Contains(err.Error(), `UnmountVolume.TearDown failed for volume "disk" : it does not answer`) || !exists(at) {
		t.Errorf("got %v, and the volume is there: %t", err, exists(at))
	}
	d.fails = nil
	if err := b.TearDown(t.Context(), "u1"); err != nil || exists(at) {
		t.Errorf("got %v, and the volume is there: %t", err, exists(at))
	}
	if want := []string{"unpublish " + at, "unpublish " + at}; !slices.Equal(d.calls, want) {
		t.Errorf("the driver was asked %q, want %q", d.calls, want)
	}
}

func TestASweepHasDriversTakeTheirVolumesByTheirNames(t *testing.T) {
	b, d, p, at := driven(t)
	d.then = func() {
		if err := b.SetUp(t.Context(), p, "v"); err == nil || !strings.Contains(err.Error(), "is being taken away") {
			t.Errorf("meanwhile it is laid out: %v", err)
		}
	}
	if err := b.Sweep(t.Context(), keepNone); err != nil || exists(filepath.Join(b.Pods, "u1")) || !slices.Equal(d.calls, []string{"unpublish " + at}) {
		t.Errorf("got %v, and %q was asked", err, d.calls)
	}
	d.then = nil
	if err := b.SetUp(t.Context(), p, "v"); err != nil {
		t.Errorf("a pod of the same UID that comes back: %v", err)
	}
}

func TestADriverThatFailsKeepsWhatASweepWouldTake(t *testing.T) {
	b, d, _, at := driven(t)
	d.fails = errors.New("it does not answer")
	if err := b.Sweep(t.Context(), func(types.UID) bool { return false }); err == nil || !exists(at) {
		t.Errorf("got %v, and the volume is there: %t", err, exists(at))
	}
	d.fails = nil
}

func TestTheDriverSaysWhetherFilesGoToTheGroup(t *testing.T) {
	once, many := corev1.ReadWriteOnce, corev1.ReadWriteMany
	for _, c := range []struct {
		name             string
		policy           storagev1.FSGroupPolicy
		fsType           string
		mode             corev1.PersistentVolumeAccessMode
		readOnly, always bool // of the pod's claim, of the volume
		want             bool
	}{
		{"without a word, a file system that one node writes", "", "ext4", once, false, false, true},
		{"as by default", storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", once, false, false, true},
		{"without a type", "", "", once, false, false, false},
		{"that several nodes write", "", "ext4", many, false, false, false},
		{"any", storagev1.FileFSGroupPolicy, "", many, false, false, true},
		{"any, but read-only here", storagev1.FileFSGroupPolicy, "", many, true, false, false},
		{"any, but read-only", storagev1.FileFSGroupPolicy, "", many, false, true, false},
		{"none", storagev1.NoneFSGroupPolicy, "ext4", once, false, false, false},
	} {
		v := corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{c.mode}}
		v.CSI = &corev1.CSIPersistentVolumeSource{FSType: c.fsType, ReadOnly: c.always}
		if got := hands(&v, c.policy, c.readOnly); got != c.want {
			t.Errorf("%s: they go to the group: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestAVolumeOfADriverAloneIsPublishedAgain(t *testing.T) {
	b, d, p, at := driven(t)
	v := node.PublishedVolume{Pod: p, Name: "v"}
	if got, err := b.Published(t.Context(), v); err != nil || !got.Equal(time.Unix(1, 0)) {
		t.Errorf("got %v, %v, want the time that the driver says", got, err)
	}
	d.fails = errors.New("it does not answer")
	if err := b.Republish(t.Context(), v); err == nil || err.Error() != `MountVolume.SetUp failed for volume "v" : it does not answer` {
		t.Errorf("got %v", err)
	}
	if want := []string{"published " + at, "republish " + at}; !slices.Equal(d.calls, want) {
		t.Errorf("the driver was asked %q, want %q", d.calls, want)
	}
	d.fails, d.calls = nil, nil
	other := node.PublishedVolume{Pod: pod(emptyDir()), Name: "v"}
	if got, err := b.Published(t.Context(), other); err != nil || !got.IsZero() || b.Republish(t.Context(), other) != nil || len(d.calls) > 0 {
		t.Errorf("of another volume: got %v, %v and %q was asked", got, err, d.calls)
	}
}
