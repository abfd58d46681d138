package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// scribe stands for the runtime, which writes the log of one container.
type scribe struct {
	mu     sync.Mutex
	run    node.LogRun
	path   string
	file   *os.File
	opened int
	lines  strings.Builder // all that it has written
}

// reopen goes on in a new file. Real rotations are seconds apart, and so are the times of their files.
func (s *scribe) reopen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.opened++
		at := time.Now().Add(time.Duration(s.opened-1000) * time.Hour)
		if err := errors.Join(os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", s.file.Fd()), at, at), s.file.Close()); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	s.file = file
	return err
}

func (s *scribe) write(lines int) error {
	for i := range lines {
		s.mu.Lock()
		line := fmt.Sprintf("%s says %d after %d bytes", s.run.Key.Name, i, s.lines.Len())
		s.lines.WriteString(line + "\n")
		_, err := io.WriteString(s.file, full(line))
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// manyScribes makes writers, each with a follower of its log.
func manyScribes(t *testing.T, l Layout, count int) (all []*scribe, followers []*following) {
	t.Helper()
	for i := range count {
		run := runOf(fmt.Sprint("pod-", i), types.UID(fmt.Sprint("uid-", i)))
		path, err := l.Path(run)
		s := &scribe{run: run, path: path}
		if err := errors.Join(err, makeContainerDir(l, run), s.reopen()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.file.Close() })
		all = append(all, s)
		followers = append(followers, startFollowing(t, path, node.LogOptions{}, newLive()))
	}
	return all, followers
}

func TestManyWritersAreRotatedWithoutALineLostOrRepeated(t *testing.T) {
	const writers, chunks, lines = 50, 6, 40
	l := keeping(t)
	scribes, followers := manyScribes(t, l, writers)
	byID := map[string]*scribe{}
	var open []Open
	for _, s := range scribes {
		byID[s.run.Key.Name] = s
		open = append(open, Open{LogRun: s.run, ContainerID: s.run.Key.Name})
	}
	r := Rotation{
		Layout: l, MaxSize: 1 << 10, MaxFiles: 100, Workers: 4, Log: slog.New(slog.DiscardHandler),
		Running: func() []Open { return open },
		Reopen:  func(_ context.Context, id string) error { return byID[id].reopen() },
	}
	for chunk := range chunks { // written while the logs are rotated
		var all sync.WaitGroup
		for _, s := range scribes {
			all.Go(func() {
				if err := s.write(lines); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { r.round(t.Context(), morning.Add(time.Duration(chunk)*time.Minute)) })
		all.Wait()
	}
	for i, s := range scribes {
		followers[i].sees(s.lines.String())
		followers[i].exit()
		if err := followers[i].ends(); err != nil {
			t.Errorf("following %s: %v", s.run.Key, err)
		}
		if s.opened == 0 {
			t.Errorf("the log of %s was not rotated", s.run.Key)
		}
		if got := l.read(t, s.run); got != s.lines.String() {
			t.Errorf("of %s %d bytes are read, want %d, every line once", filepath.Base(s.path), len(got), s.lines.Len())
		}
		if err := l.RemovePod(s.run.Key, s.run.UID); err != nil {
			t.Fatal(err)
		}
		if got := l.read(t, s.run); got != s.lines.String() {
			t.Errorf("of %s %d bytes are kept, want %d, every line once", filepath.Base(s.path), len(got), s.lines.Len())
		}
	}
}
