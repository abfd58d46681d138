package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func keepNone(types.UID) bool { return false }

func TestTearDownLeavesNothing(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "outside")
	b.write(outside, "kept", "data")
	p := pod(emptyDir())
	p.Object.Spec.Containers[0].VolumeMounts[0].SubPath = "part"
	if err := b.SetUp(t.Context(), p, "v"); err != nil {
		t.Fatal(err)
	}
	part := b.source(p)
	b.write(part, "a/b/file", "data")
	if err := os.Symlink(outside, filepath.Join(part, "link")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := b.TearDown(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
	}
	if exists(filepath.Join(b.Pods, "u1")) || len(b.mounted()) > 0 {
		t.Errorf("the pod's directory is left, or mounts: %q", b.mounted())
	}
	if !exists(filepath.Join(outside, "kept")) {
		t.Error("a link was followed and the file behind it removed")
	}
}

func TestTearDownTakesStackedAndNestedMounts(t *testing.T) {
	b := newBench(t)
	dir := b.setUp(pod(emptyDir()))
	for _, at := range []string{"a", "a/b", "a/b", "with blank"} {
		point := filepath.Join(dir, at)
		if err := os.MkdirAll(point, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", point, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
	if got := b.mounted(); len(got) > 0 || exists(dir) {
		t.Errorf("mounted are %q", got)
	}
}

// Files below a mount do not belong to the volume, so they stay even if it cannot be
// unmounted.
func TestABusyMountKeepsItsFiles(t *testing.T) {
	b := newBench(t)
	host := t.TempDir()
	b.write(host, "kept", "data")
	point := filepath.Join(b.setUp(pod(emptyDir())), "host")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(host, point, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(filepath.Join(point, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	err = b.TearDown(t.Context(), "u1")
	var failure *node.Failure
	if !errors.Is(err, unix.EBUSY) || !errors.As(err, &failure) || failure.Reason != node.FailedUnmount {
		t.Errorf("got %v, want that it is busy", err)
	}
	// A removal that comes without unmounting stops there too.
	if err := removeTree(t.Context(), filepath.Join(b.Pods, "u1")); err == nil || !strings.Contains(err.Error(), "something is mounted there") {
		t.Errorf("got %v, want that something is mounted", err)
	}
	if !exists(filepath.Join(host, "kept")) {
		t.Fatal("a file of the host was removed")
	}
	open.Close()
	if err := b.TearDown(t.Context(), "u1"); err != nil || exists(point) {
		t.Errorf("once it is free: %v, it is there: %t", err, exists(point))
	}
	if !exists(filepath.Join(host, "kept")) {
		t.Error("a file of the host was removed")
	}
}

func TestRemovalGoesAsDeepAsItTakes(t *testing.T) {
	b := newBench(t)
	dir := b.setUp(pod(emptyDir()))
	at, err := unix.Open(dir, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 { // far deeper than a path may be long
		if err := unix.Mkdirat(at, "directory", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "directory", unix.O_PATH, 0)
		unix.Close(at)
		if err != nil {
			t.Fatal(err)
		}
		at = next
	}
	unix.Close(at)
	for i := range 2500 { // more than are read at once
		b.write(dir, "many/"+strings.Repeat("x", i%200)+"/file", "")
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil || exists(dir) {
		t.Errorf("got %v, it is there: %t", err, exists(dir))
	}
}

func TestOthersFilesOfThePodStay(t *testing.T) {
	b := newBench(t)
	b.setUp(pod(emptyDir()))
	b.write(b.Pods, "u1/etc-hosts", "127.0.0.1 localhost")
	if err := b.TearDown(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	b.wantShown(filepath.Join(b.Pods, "u1"), "etc-hosts -rw-r--r-- 127.0.0.1 localhost")
}

func TestSweepRemovesUnkeptDirectories(t *testing.T) {
	b := newBench(t)
	b.post(secret("login", map[string]string{"password": "x"}))
	for _, uid := range []types.UID{"u1", "u2", "u3"} {
		p := pod(fromSecret("login"))
		p.Object.UID = uid
		b.setUp(p)
	}
	b.write(b.Pods, "u3/etc-hosts", "")
	keep := func(uid types.UID) bool { return uid == "u2" }
	listed, err := b.Garbage(t.Context(), keep)
	if err != nil || len(listed) != 2 || filepath.Base(listed[0].Name) != "u1" || filepath.Base(listed[1].Name) != "u3" ||
		!strings.Contains(listed[0].Why, "unmounted first (1)") {
		t.Errorf("listed %+v, %v, want u1 and u3 with what is mounted in them", listed, err)
	}
	b.Swept = func(removed, failed int) {
		if removed != 2 || failed != 0 {
			t.Errorf("the volumes of %d pods were removed and of %d not, want those of two", removed, failed)
		}
	}
	if err := b.Sweep(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	b.Swept = nil
	entries, err := os.ReadDir(b.Pods)
	if err != nil || len(entries) != 1 || entries[0].Name() != "u2" || len(b.mounted()) != 1 {
		t.Errorf("left are %v, %v, mounted %q; want u2", entries, err, b.mounted())
	}
}

// A sweep that was ended in the middle is finished by the next one.
func TestSweepGoesOn(t *testing.T) {
	b := newBench(t)
	b.post(secret("login", map[string]string{"password": "x"}))
	dir := b.setUp(pod(fromSecret("login")))
	open, err := os.Open(filepath.Join(dir, "password"))
	if err != nil {
		t.Fatal(err)
	}
	stuck := 0
	b.Swept = func(_, failed int) { stuck = failed }
	if err := b.Sweep(t.Context(), keepNone); !errors.Is(err, unix.EBUSY) || stuck != 1 {
		t.Errorf("got %v of %d pods, want that one is busy", err, stuck)
	}
	// The name is free for a pod with the same UID meanwhile.
	b.wantShown(b.setUp(pod(fromSecret("login"))), "password -rw-r--r-- x")
	open.Close()
	if err := b.Sweep(t.Context(), func(uid types.UID) bool { return uid == "u1" }); err != nil {
		t.Fatal(err)
	}
	if got := b.mounted(); !slices.Equal(got, []string{dir}) {
		t.Errorf("mounted are %q, want %s alone", got, dir)
	}
}

func TestSweepSparesVolumesThatAreBeingLaidOut(t *testing.T) {
	b := newBench(t)
	b.setUp(pod(emptyDir()))
	b.enter("u1")
	if err := b.Sweep(t.Context(), keepNone); err != nil || !exists(filepath.Join(b.Pods, "u1")) {
		t.Errorf("got %v, it is there: %t", err, exists(filepath.Join(b.Pods, "u1")))
	}
	b.leave("u1")
}

func TestUIDsThatLeadElsewhereAreRefused(t *testing.T) {
	b := newBench(t)
	for _, uid := range []types.UID{"", "..", "../x", "a/b", ".gone-u1"} {
		p := pod(emptyDir())
		p.Object.UID = uid
		if err := b.SetUp(t.Context(), p, "v"); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("uid %q: got %v, want it refused", uid, err)
		}
		if err := b.TearDown(context.Background(), uid); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("uid %q: got %v, want it refused", uid, err)
		}
	}
}
