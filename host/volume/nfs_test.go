package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

func fromServer() corev1.VolumeSource {
	return corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "files.example", Path: "/export"}}
}

// helper has a script stand for mount.nfs.
func (b *bench) helper(script string) {
	b.Helper()
	b.NFSHelper = filepath.Join(b.TempDir(), "mount.nfs")
	if err := os.WriteFile(b.NFSHelper, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		b.Fatal(err)
	}
}

func TestTheHelperMountsAnExportedDirectory(t *testing.T) {
	b := newBench(t)
	b.helper(`mount -t tmpfs tmpfs "$2" && echo "$@" >"$2/said"`)
	source := fromServer()
	source.NFS.ReadOnly = true
	p := pod(source)
	dir := b.setUp(p)
	b.setUp(p) // mounted once
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if want := "files.example:/export " + dir + " -o ro\n"; err != nil || string(said) != want {
		t.Errorf("the helper was told %q, %v; want %q", said, err, want)
	}
	if mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil); err != nil || !mounts[0].Readonly || len(b.mounted()) != 1 {
		t.Errorf("got %v, %v, mounted %q", mounts, err, b.mounted())
	}
	if got, err := b.NodeDir(p.Object, "v"); got != "" || err != nil {
		t.Errorf("got %q, %v, want nowhere to look without the server", got, err)
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil || len(b.mounted()) > 0 {
		t.Errorf("got %v, mounted are %q", err, b.mounted())
	}
}

func TestAMountBehindALinkIsNotRepeated(t *testing.T) {
	b := newBench(t)
	b.post(secret("login", map[string]string{"password": "x"}))
	b.helper(`mount -t tmpfs tmpfs "$2"`)
	b.bound(local(t.TempDir()), false)
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(b.Pods, 0o755), os.Symlink(b.Pods, link)); err != nil {
		t.Fatal(err)
	}
	b.Pods = link
	for name, source := range map[string]corev1.VolumeSource{
		"of a server": fromServer(), "in memory": {EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}},
		"of secrets": fromSecret("login"), "of a claim": fromClaim(),
	} {
		p := pod(source)
		p.Object.Spec.Containers[0].VolumeMounts[0].SubPath = "part"
		b.setUp(p)
		once := b.mounted()
		b.setUp(p)
		if twice := b.mounted(); len(once) == 0 || !slices.Equal(twice, once) {
			t.Errorf("%s: mounted are %q, and %q when it is set up again", name, once, twice)
		}
		if err := b.TearDown(t.Context(), "u1"); err != nil || len(b.mounted()) > 0 {
			t.Errorf("%s: got %v, mounted are %q", name, err, b.mounted())
		}
	}
}

func TestAClaimMayBeOfAServer(t *testing.T) {
	b := newBench(t)
	b.helper(`mount -t tmpfs tmpfs "$2" && echo "$3 $4" >"$2/said"`)
	b.bound(corev1.PersistentVolumeSource{NFS: fromServer().NFS}, false).Spec.MountOptions = []string{"nfsvers=4.2", "soft"}
	if said, err := os.ReadFile(filepath.Join(b.setUp(pod(fromClaim())), "said")); err != nil || string(said) != "-o nfsvers=4.2,soft\n" {
		t.Errorf("the helper was told %q, %v", said, err)
	}
}

func TestAServerThatCannotBeMounted(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		within time.Duration
		want   string
	}{
		"it refuses":             {"echo 'access denied by server' >&2; exit 32", time.Minute, "mount files.example:/export: exit status 32: access denied by server"},
		"there is no helper":     {"", time.Minute, "which is not on this machine"},
		"it is given up in time": {"exec sleep 1000", 300 * time.Millisecond, context.DeadlineExceeded.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.helper(c.script)
			if c.script == "" {
				b.NFSHelper += ".none"
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			err := b.SetUp(ctx, pod(fromServer()), "v")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAServerThatDoesNotAnswerIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := New(Config{})
		answers := make(chan struct{})
		asked := 0
		ask := func() error {
			return tree.inTime(t.Context(), "/v", func(context.Context) error {
				asked++
				<-answers
				return nil
			})
		}
		begin := time.Now()
		if err := ask(); !errors.Is(err, errSlow) || time.Since(begin) != mountPatience {
			t.Errorf("got %v after %s", err, time.Since(begin))
		}
		err := ask()
		synctest.Wait() // for the caller that counts
		if !errors.Is(err, errSlow) || asked != 1 {
			t.Errorf("got %v; the server was asked %d times, want once", err, asked)
		}
		close(answers)
		synctest.Wait()
		err = ask()
		synctest.Wait()
		if err != nil || asked != 2 {
			t.Errorf("once it answers: %v, asked %d times", err, asked)
		}
	})
}

func TestAMountOfADeadServerIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detached := make(chan struct{})
		forced := false
		begin := time.Now()
		err := letGo("/v", func(flags int) error {
			switch {
			case flags&unix.MNT_DETACH != 0:
				close(detached)
			case flags&unix.MNT_FORCE != 0:
				forced = true
				<-detached
			default:
				<-detached
				return unix.EINVAL
			}
			return nil
		})
		synctest.Wait()
		if err != nil || !forced || time.Since(begin) != unmountPatience {
			t.Errorf("got %v after %s, forced: %t", err, time.Since(begin), forced)
		}
	})
	if err := letGo("/v", func(int) error { return unix.EBUSY }); !errors.Is(err, unix.EBUSY) {
		t.Errorf("of a server that answers: got %v, want that it is busy", err)
	}
}
