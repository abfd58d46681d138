package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nodal/node"
)

// patience bounds how long a test waits for what has to happen.
const patience = 30 * time.Second

// live is a node.LogSink that lets a test wait for output, and make it wait.
type live struct {
	gate chan struct{} // writing waits until it is closed, unless it is nil
	held chan struct{} // gets a value when writing waits

	mu      sync.Mutex
	got     bytes.Buffer
	flushed string
	changed chan struct{}
}

var _ node.LogSink = (*live)(nil)

func newLive() *live { return &live{changed: make(chan struct{}, 1), held: make(chan struct{}, 1)} }

func (l *live) Write(b []byte) (int, error) {
	if l.gate != nil {
		select {
		case l.held <- struct{}{}:
		default:
		}
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got.Write(b)
}

func (l *live) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed = l.got.String()
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return nil
}

func (l *live) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// following is a Read with Follow that a test looks at while it goes on.
type following struct {
	t      *testing.T
	path   string
	out    *live
	exit   func() // the container exits
	cancel context.CancelFunc
	done   chan error
}

func startFollowing(t *testing.T, path string, opts node.LogOptions, out *live) *following {
	t.Helper()
	exited := make(chan struct{})
	opts.Follow, opts.Exited = true, exited
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	f := &following{t: t, path: path, out: out, cancel: cancel, done: make(chan error, 1),
		exit: sync.OnceFunc(func() { close(exited) })}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f.done <- Read(ctx, path, opts, out)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
	})
	return f
}

// sees waits until the output is exactly the expected one.
func (f *following) sees(want string) {
	f.t.Helper()
	timeout := time.After(patience)
	for f.out.text() != want {
		select {
		case <-f.out.changed:
		case err := <-f.done:
			f.done <- err
			if got := f.out.text(); got != want {
				f.t.Fatalf("Read returned %v with %.300q, want %.300q", err, got, want)
			}
		case <-timeout:
			f.t.Fatalf("got %.300q, want %.300q", f.out.text(), want)
		}
	}
}

// ends waits for Read to return.
func (f *following) ends() error {
	f.t.Helper()
	select {
	case err := <-f.done:
		return err
	case <-time.After(patience):
		f.t.Fatal("Read does not return")
		return nil
	}
}

func (f *following) write(content string) {
	f.t.Helper()
	appendTo(f.t, f.path, content)
}

func appendTo(t *testing.T, path, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

// rotate renames the log as the kubelet does and returns its new path.
func rotate(t *testing.T, path, suffix string) string {
	t.Helper()
	rotated := path + "." + suffix
	if err := os.Rename(path, rotated); err != nil {
		t.Fatal(err)
	}
	return rotated
}

func full(text string) string    { return "2026-01-02T15:04:05.1Z stdout F " + text + "\n" }
func partial(text string) string { return "2026-01-02T15:04:05.1Z stdout P " + text + "\n" }

func TestFollowPrintsLaterLines(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("old")+full("one")), node.LogOptions{Tail: new(int64(1))}, newLive())
	f.sees("one\n")
	f.write(full("two"))
	f.sees("one\ntwo\n")
	f.write("2026-01-02T15:04:05Z stdout F thr")
	f.write("ee\n" + partial("fo"))
	f.sees("one\ntwo\nthree\nfo")
	f.write(full("ur"))
	f.sees("one\ntwo\nthree\nfour\n")
	f.exit()
	if err := f.ends(); err != nil {
		t.Errorf("Read = %v after the container exited", err)
	}
}

func TestFollowReadsAllThatAnExitedContainerWrote(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, newLive())
	f.sees("one\n")
	f.write(full("two") + strings.TrimSuffix(full("torn"), "\n"))
	f.exit()
	if err := f.ends(); err != nil {
		t.Fatalf("Read = %v", err)
	}
	f.sees("one\ntwo\ntorn")
}

func TestFollowWithoutContainerPrintsTheLogAndEnds(t *testing.T) {
	out := newLive()
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, out)
	f.exit()
	if err := f.ends(); err != nil {
		t.Fatalf("Read = %v", err)
	}
	f.sees("one\n")
}

func TestFollowEndsAtOnceWithItsContext(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, newLive())
	f.sees("one\n")
	f.cancel()
	if err := f.ends(); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
}

func TestFollowEndsAtItsLimit(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{LimitBytes: new(int64(6))}, newLive())
	f.sees("one\n")
	f.write(full("two"))
	if err := f.ends(); err != nil {
		t.Errorf("Read = %v, want nil at the limit", err)
	}
	f.sees("one\ntw")
}

func TestFollowGoesOnInTheNextFile(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, newLive())
	f.sees("one\n")
	old := rotate(t, f.path, "20260102-150405")
	appendTo(t, old, full("two"))
	f.sees("one\ntwo\n")
	f.write(full("three"))
	f.sees("one\ntwo\nthree\n")
	// The runtime had these still in hand when it opened the new file.
	appendTo(t, old, full("late"))
	f.sees("one\ntwo\nthree\nlate\n")
	f.write(full("four"))
	f.sees("one\ntwo\nthree\nlate\nfour\n")
}

func TestFollowFindsTheLinesOfARotationBeforeExit(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, newLive())
	f.sees("one\n")
	f.write(full("two"))
	rotate(t, f.path, "20260102-150405")
	f.write(full("three"))
	f.exit()
	if err := f.ends(); err != nil {
		t.Fatalf("Read = %v", err)
	}
	f.sees("one\ntwo\nthree\n")
}

func TestFollowStartsAnewAfterTruncation(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("one")+full("two")), node.LogOptions{}, newLive())
	f.sees("one\ntwo\n")
	if err := os.Truncate(f.path, 0); err != nil {
		t.Fatal(err)
	}
	f.write(full("3"))
	f.sees("one\ntwo\n3\n")
}

// A reader that blocks while the log is rotated more than once gets it all: the
// files between are still there, only under other names.
func TestFollowGivesASlowReaderEveryRotation(t *testing.T) {
	out := newLive()
	out.gate = make(chan struct{})
	f := startFollowing(t, writeLog(t, full("one")), node.LogOptions{}, out)
	select {
	case <-out.held:
	case <-time.After(patience):
		t.Fatal("Read prints nothing")
	}
	dir := filepath.Dir(f.path)
	for i, text := range []string{"two", "three", "four"} {
		rotate(t, f.path, fmt.Sprintf("20260102-15040%d", i))
		f.write(full(text))
	}
	// Older logs are no successors, nor is a file that is being packed.
	for _, name := range []string{"0.log.20250101-000000", "0.log.20260102-150409.gz.tmp", "0.log.1"} {
		appendTo(t, filepath.Join(dir, name), full("never"))
	}
	close(out.gate)
	f.sees("one\ntwo\nthree\nfour\n")
}

// The writer rotates as fast as it can beside the reader.
func TestFollowLosesNothingWhileRotating(t *testing.T) {
	f := startFollowing(t, writeLog(t, full("start")), node.LogOptions{}, newLive())
	f.sees("start\n") // from here on the reader holds the first file
	var want strings.Builder
	want.WriteString("start\n")
	hour := time.Now().Add(-1000 * time.Hour)
	for i := range 5000 {
		line := fmt.Sprintf("line %d", i)
		want.WriteString(line + "\n")
		f.write(full(line))
		if i%100 == 99 {
			// Real rotations are seconds apart, and so are their files' times.
			hour = hour.Add(time.Hour)
			if err := os.Chtimes(f.path, hour, hour); err != nil {
				t.Fatal(err)
			}
			rotate(t, f.path, hour.Format(stampLayout))
		}
	}
	f.write(full("end"))
	f.sees(want.String() + "end\n")
	f.exit()
	if err := f.ends(); err != nil {
		t.Errorf("Read = %v", err)
	}
}

// Where nothing can be watched a follower looks now and then.
func TestWaitPollsWithoutAWatch(t *testing.T) {
	w := watch(filepath.Join(t.TempDir(), "missing"))
	defer w.close()
	if w.notify != nil {
		t.Fatal("a missing directory is watched")
	}
	if err := w.wait(t.Context(), nil); err != nil {
		t.Errorf("wait = %v, want nil when the period is over", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("wait = %v, want %v", err, context.Canceled)
	}
}
