package logs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/node"
)

const secret = "2026-01-02T15:04:05Z stdout F secret\n"

// planted is a log in a directory as Layout says, and a file of others.
func planted(t *testing.T) (log, other string) {
	t.Helper()
	dir := t.TempDir()
	log, other = filepath.Join(dir, "pods", "default_web_1", "main", "0.log"), filepath.Join(dir, "other", "0.log")
	for path, text := range map[string]string{log: "2026-01-02T15:04:05Z stdout F mine\n", other: secret} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return log, other
}

func TestWhatIsNoLogOfTheContainerIsNotRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(log, other string) error
		want  string
	}{
		{"a symbolic link", func(log, other string) error {
			return errors.Join(os.Remove(log), os.Symlink(other, log))
		}, "symbolic link"},
		{"a relative link", func(log, other string) error {
			return errors.Join(os.Remove(log), os.Symlink("../../../other/0.log", log))
		}, "symbolic link"},
		{"a link within the directory", func(log, other string) error {
			return errors.Join(os.Rename(log, log+".old"), os.Symlink("0.log.old", log))
		}, "symbolic link"},
		{"a hard link", func(log, other string) error {
			return errors.Join(os.Remove(log), os.Link(other, log))
		}, "hard link"},
		{"a hard link that looks rotated, too", func(log, other string) error {
			return errors.Join(os.Remove(log), os.Link(other, log), os.Link(other, log+".20260102-080000"))
		}, "hard link"},
		{"a hard link among the rotated", func(log, other string) error {
			return os.Link(other, log+".20260102-080000")
		}, "hard link"},
		{"a container's directory elsewhere", func(log, other string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(log)), os.Symlink(filepath.Dir(other), filepath.Dir(log)))
		}, "main"},
		{"a pod's directory elsewhere", func(log, other string) error {
			pod, elsewhere := filepath.Dir(filepath.Dir(log)), filepath.Dir(other)+"/pod"
			return errors.Join(os.Rename(pod, elsewhere), os.Symlink(elsewhere, pod))
		}, "default_web_1"},
		{"a named pipe", func(log, other string) error {
			return errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o600))
		}, "named pipe"},
		{"a directory", func(log, other string) error {
			return errors.Join(os.Remove(log), os.Mkdir(log, 0o700))
		}, "directory"},
	} {
		for _, follow := range []bool{false, true} {
			name := c.name
			if follow {
				name += ", followed"
			}
			t.Run(name, func(t *testing.T) {
				log, other := planted(t)
				if err := c.plant(log, other); err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				exited := make(chan struct{})
				close(exited)
				err := Read(t.Context(), log, node.LogOptions{Follow: follow, Exited: exited}, flushless{&out})
				if err == nil || errors.Is(err, node.ErrNotFound) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), log) {
					t.Errorf("got %v, want the log and %q", err, c.want)
				}
				if strings.Contains(out.String(), "secret") {
					t.Errorf("printed %q", out.String())
				}
			})
		}
	}
}

// flushless is a node.LogSink over a buffer.
type flushless struct{ *bytes.Buffer }

func (flushless) Flush() error { return nil }

func TestLogThatIsReplacedByALinkWhileItIsFollowedEndsWithAnError(t *testing.T) {
	log, other := planted(t)
	var out bytes.Buffer
	replaced := false
	sink := onFlush{&out, func() error {
		if replaced || out.Len() == 0 {
			return nil
		}
		replaced = true
		return errors.Join(os.Remove(log), os.Symlink(other, log))
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := Read(ctx, log, node.LogOptions{Follow: true}, sink)
	if err == nil || !strings.Contains(err.Error(), "symbolic link") || out.String() != "mine\n" {
		t.Errorf("got %v and %q, want that the link is refused", err, out.String())
	}
}

type onFlush struct {
	*bytes.Buffer
	do func() error
}

func (o onFlush) Flush() error { return o.do() }

func TestLogWithTwoNamesOfARotationIsRead(t *testing.T) {
	log, _ := planted(t)
	if err := os.Link(log, log+".20260102-080000"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Read(t.Context(), log, node.LogOptions{}, flushless{&out}); err != nil || out.String() != "mine\n" {
		t.Errorf("got %q (%v), want the log once", out.String(), err)
	}
}

func TestDockersLogIsReadByTheIDOfItsContainer(t *testing.T) {
	log, other := planted(t)
	const id = "0123abcd"
	kept := filepath.Join(filepath.Dir(other), id, id+"-json.log")
	if err := errors.Join(os.Mkdir(filepath.Dir(kept), 0o700), os.Rename(other, kept), os.Remove(log), os.Symlink(kept, log)); err != nil {
		t.Fatal(err)
	}
	layout := Layout{Pods: filepath.Dir(filepath.Dir(filepath.Dir(log)))}
	run := node.LogRun{Key: node.Key{Namespace: "default", Name: "web"}, UID: "1", Container: "main", ID: id}
	var out bytes.Buffer
	if err := layout.Read(t.Context(), run, node.LogOptions{}, flushless{&out}); err != nil || out.String() != "secret\n" {
		t.Errorf("got %q (%v), want what Docker keeps", out.String(), err)
	}
	for _, id := range []string{"0123abce", "", "../" + id} {
		run.ID = id
		if err := layout.Read(context.Background(), run, node.LogOptions{}, flushless{&out}); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("of container %q: got %v, want that the link is refused", id, err)
		}
	}
}
