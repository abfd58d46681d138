package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
)

// spinner stands for a container whose log is rotated.
type spinner struct {
	*testing.T
	Rotation
	dir    string
	path   string
	log    Open
	reopen func() error
	opened int // how often the runtime was asked for a new file
}

func newSpinner(t *testing.T, maxFiles int) *spinner {
	t.Helper()
	dir := t.TempDir()
	layout := Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
	log := Open{LogRun: runOf("web", "uid-1"), ContainerID: "id2"}
	log.Attempt = 2
	path, err := layout.Path(log.LogRun)
	if err := errors.Join(err, makeContainerDir(layout, log.LogRun)); err != nil {
		t.Fatal(err)
	}
	s := &spinner{T: t, dir: filepath.Dir(path), path: path, log: log}
	s.reopen = func() error { return os.WriteFile(path, nil, 0o640) }
	s.Rotation = Rotation{
		Layout: layout, MaxSize: 100, MaxFiles: maxFiles, Every: 10 * time.Second, Workers: 1, Log: slog.New(slog.DiscardHandler),
		Running: func() []Open { return []Open{log} },
		Reopen: func(_ context.Context, id string) error {
			s.opened++
			if id != "id2" {
				t.Errorf("container %s was asked to reopen its log", id)
			}
			return s.reopen()
		},
	}
	return s
}

var morning = time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)

func (s *spinner) turnAt(now time.Time) {
	s.Helper()
	if err := s.rotate(s.Context(), s.log, now); err != nil {
		s.Fatalf("rotate: %v", err)
	}
}

func (s *spinner) files() []string {
	s.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (s *spinner) write(lines ...string) {
	s.Helper()
	for _, line := range lines {
		appendTo(s.T, s.path, full(line))
	}
}

func TestLogsAreRotatedPackedAndDropped(t *testing.T) {
	s := newSpinner(t, 4)
	for i := range 6 {
		s.write(fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), fmt.Sprintf("c%d", i))
		s.turnAt(morning.Add(time.Duration(i) * time.Hour))
	}
	s.write("now")
	want := []string{"2.log", "2.log.20260102-120000.gz", "2.log.20260102-130000.gz", "2.log.20260102-140000"}
	if got := s.files(); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if got, want := readAll(t, s.path, node.LogOptions{}), "a3\nb3\nc3\na4\nb4\nc4\na5\nb5\nc5\nnow\n"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	for tail, want := range map[int64]string{
		0: "", 1: "now\n", 2: "c5\nnow\n", 4: "a5\nb5\nc5\nnow\n", 5: "c4\na5\nb5\nc5\nnow\n",
		9: "b3\nc3\na4\nb4\nc4\na5\nb5\nc5\nnow\n", 99: "a3\nb3\nc3\na4\nb4\nc4\na5\nb5\nc5\nnow\n",
	} {
		if got := readAll(t, s.path, node.LogOptions{Tail: &tail}); got != want {
			t.Errorf("the last %d lines are %q, want %q", tail, got, want)
		}
	}
	if err := s.Layout.RemoveRun(s.log.LogRun); err != nil || len(s.files()) != 0 {
		t.Errorf("removed with their run: %v, left %q", err, s.files())
	}
}

func TestOnlyLogsThatAreTooLongAreRotated(t *testing.T) {
	s := newSpinner(t, 5)
	s.write("one")
	s.turnAt(morning)
	if got := s.files(); s.opened != 0 || !slices.Equal(got, []string{"2.log"}) {
		t.Errorf("left %q, asked %d times for a new file, want nothing done", got, s.opened)
	}
}

func TestRoundsFollowTheClock(t *testing.T) {
	s := newSpinner(t, 5)
	s.write("one", "two", "three")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		s.Rotation.Run(ctx)
	})
	if s.opened != 1 || len(s.files()) != 2 {
		t.Errorf("left %q, asked %d times for a new file, want one rotation in three rounds", s.files(), s.opened)
	}
}

func TestTheOrderOfRotatedLogsIsThatOfTheirLines(t *testing.T) {
	s := newSpinner(t, 5)
	for i, at := range []time.Time{morning, morning.Add(-time.Hour), morning.Add(-time.Hour)} { // the clock was set back
		s.write(fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), fmt.Sprintf("c%d", i))
		s.turnAt(at)
	}
	if got, want := readAll(t, s.path, node.LogOptions{}), "a0\nb0\nc0\na1\nb1\nc1\na2\nb2\nc2\n"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestRotationThatFailsLosesNothing(t *testing.T) {
	broken := errors.New("the runtime is away")
	t.Run("the runtime goes on in the old file", func(t *testing.T) {
		s := newSpinner(t, 5)
		s.write("one", "two", "three")
		s.reopen = func() error { return broken }
		if err := s.rotate(t.Context(), s.log, morning); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
		if got := s.files(); !slices.Equal(got, []string{"2.log"}) {
			t.Errorf("left %q, want the log under its name", got)
		}
	})
	t.Run("the runtime has begun a new file after all", func(t *testing.T) {
		s := newSpinner(t, 5)
		s.write("one", "two", "three")
		s.reopen = func() error { return errors.Join(broken, os.WriteFile(s.path, []byte(full("four")), 0o640)) }
		if err := s.rotate(t.Context(), s.log, morning); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
		if got := readAll(t, s.path, node.LogOptions{}); got != "one\ntwo\nthree\nfour\n" {
			t.Errorf("read %q, want every line once", got)
		}
	})
	t.Run("a move that was cut short in its middle", func(t *testing.T) {
		s := newSpinner(t, 5)
		s.write("one", "two", "three")
		if err := os.Link(s.path, s.path+".20260102-080000"); err != nil {
			t.Fatal(err)
		}
		s.turnAt(morning)
		s.write("four")
		if got := readAll(t, s.path, node.LogOptions{}); got != "one\ntwo\nthree\nfour\n" || s.opened != 1 {
			t.Errorf("read %q, asked %d times for a new file, want every line once", got, s.opened)
		}
	})
	t.Run("a move that was cut short at its end", func(t *testing.T) {
		s := newSpinner(t, 5)
		s.write("one", "two", "three")
		if err := os.Rename(s.path, s.path+".20260102-080000"); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, s.path, node.LogOptions{}); got != "one\ntwo\nthree\n" {
			t.Errorf("meanwhile read %q, want the lines there are", got)
		}
		s.turnAt(morning)
		if _, err := os.Stat(s.path); err != nil || s.opened != 1 {
			t.Errorf("the log: %v, asked %d times for a new file, want one", err, s.opened)
		}
	})
}

func TestPackingThatWasCutShortIsDoneAgain(t *testing.T) {
	s := newSpinner(t, 5)
	s.write("one", "two", "three")
	s.turnAt(morning)
	draft := s.path + ".20260102-090000.gz.tmp"
	if err := os.WriteFile(draft, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.write("four", "five", "six")
	s.turnAt(morning.Add(time.Hour))
	want := []string{"2.log", "2.log.20260102-090000.gz", "2.log.20260102-100000"}
	if got := s.files(); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if got := readAll(t, s.path, node.LogOptions{}); got != "one\ntwo\nthree\nfour\nfive\nsix\n" {
		t.Errorf("read %q, want every line once", got)
	}
}

func TestDamagedPackedLogHidesNothingElse(t *testing.T) {
	s := newSpinner(t, 5)
	s.write("now")
	if err := os.WriteFile(s.path+".20260102-090000.gz", []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, s.path, node.LogOptions{}); got != "now\n" {
		t.Errorf("read %q, want what can be read", got)
	}
}

func TestRotationStaysInItsDirectory(t *testing.T) {
	s := newSpinner(t, 5)
	outside := filepath.Join(t.TempDir(), "2.log")
	if err := errors.Join(os.WriteFile(outside, []byte(strings.Repeat("x", 200)), 0o600), os.Symlink(outside, s.path)); err != nil {
		t.Fatal(err)
	}
	s.turnAt(morning)
	if entries, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(entries) != 1 || s.opened != 0 {
		t.Errorf("outside lies %v, %v, want it left alone", entries, err)
	}
	if err := s.Layout.RemovePod(s.log.Key, s.log.UID); err != nil {
		t.Fatal(err)
	}
	s.turnAt(morning) // removed meanwhile
	if _, err := os.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v, want it gone", err)
	}
}

// A follower that is slow, while its log is rotated, packed and dropped as the
// rotation does it, gets every line that is kept, once.
func TestFollowReadsPackedFilesToo(t *testing.T) {
	s := newSpinner(t, 10)
	s.write("a", "b", "c")
	s.turnAt(morning)
	s.write("d")
	out := newLive()
	out.gate = make(chan struct{})
	f := startFollowing(t, s.path, node.LogOptions{Tail: new(int64(3))}, out)
	select {
	case <-out.held:
	case <-time.After(patience):
		t.Fatal("Read prints nothing")
	}
	for i, lines := range [][]string{{"e", "f"}, {"g", "h", "i"}, {"j", "k", "l"}, {"m", "n", "o"}} {
		s.write(lines...)
		s.turnAt(morning.Add(time.Duration(i+1) * time.Hour))
	}
	s.write("p")
	close(out.gate)
	f.sees("b\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\n")
	f.exit()
	if err := f.ends(); err != nil {
		t.Errorf("Read = %v", err)
	}
}

func TestLimitsThatChangeHoldForTheNextRound(t *testing.T) {
	s := newSpinner(t, 3)
	bytes := int64(-1)
	s.Limits = func() (int64, int) { return bytes, 3 }
	for _, c := range []struct {
		limit  int64
		opened int
	}{{-1, 0}, {1000, 0}, {10, 1}} {
		if err := os.WriteFile(s.path, []byte(strings.Repeat("x", 500)), 0o640); err != nil {
			t.Fatal(err)
		}
		bytes = c.limit
		if s.round(t.Context(), morning); s.opened != c.opened {
			t.Errorf("with a limit of %d bytes a log of 500 was rotated %d times, want %d", c.limit, s.opened, c.opened)
		}
	}
}
