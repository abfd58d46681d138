package gc_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/gc"
)

var web = node.Key{Namespace: "default", Name: "web"}

// shelf is a node's log files, on which a pod may write.
type shelf struct {
	mu      sync.Mutex
	files   []node.LogFile
	budget  gc.LogBudget
	stuck   string // a file that cannot be removed
	removed []string
}

var _ gc.LogFiles = (*shelf)(nil)

func (s *shelf) of(kept bool) (all []node.LogFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.Run.Kept == kept {
			all = append(all, f)
		}
	}
	return all
}

func (s *shelf) Kept() ([]node.LogFile, error) { return s.of(true), nil }

func (s *shelf) OfPods(pods []node.LogRun) ([]node.LogFile, error) {
	return slices.DeleteFunc(s.of(false), func(f node.LogFile) bool {
		return !slices.Contains(pods, node.LogRun{Key: f.Run.Key, UID: f.Run.UID})
	}), nil
}

func (s *shelf) RemoveFile(file node.LogFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file.Path == s.stuck {
		return errors.New("it is stuck")
	}
	s.files = slices.DeleteFunc(s.files, func(f node.LogFile) bool { return f.Path == file.Path })
	s.removed = append(s.removed, file.Path)
	return nil
}

func (s *shelf) Budget() (gc.LogBudget, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budget, nil
}

// put adds a file of a pod, at a path below its directory.
func (s *shelf) put(uid types.UID, path string, attempt uint32, bytes int64) {
	kept := strings.HasPrefix(path, "kept/")
	s.files = append(s.files, node.LogFile{
		Run: node.LogRun{Key: web, UID: uid, Container: "main", Attempt: attempt, Kept: kept}, Path: path, Bytes: bytes,
		Written: time.Now(), Rotated: strings.Contains(path, ".log."), Packed: strings.HasSuffix(path, ".gz"),
	})
}

// write makes the file longer that a pod writes to.
func (s *shelf) write(path string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.files {
		if s.files[i].Path == path {
			s.files[i].Bytes += bytes
		}
	}
}

func (s *shelf) wantRemoved(t *testing.T, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.removed, " "); got != want {
		t.Errorf("removed %q, want %q", got, want)
	}
	s.removed = nil
}

// collecting runs a collector over a node with pod web, whose second run writes, in a bubble.
func collecting(t *testing.T, s *shelf, test func(t *testing.T, c *gc.LogCollector, logged *strings.Builder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock, err := store.OpenClock(noDisk{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		pods := store.New(noDisk{}, clock)
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"}}
		if _, err := pods.Transact(func(tx *store.Tx) error {
			tx.Put(web, node.NewSlot(&node.Pod{Object: object}))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		pods.Observe(web, &node.Observed{Containers: []node.Container{
			{ID: "c1", UID: "web-uid", Name: "main", Attempt: 1, State: node.ContainerRunning},
			{ID: "c0", UID: "web-uid", Name: "main", Attempt: 0, State: node.ContainerExited},
		}})
		var logged strings.Builder
		c := &gc.LogCollector{
			Store: pods, Files: s, Every: 10 * time.Second, Log: slog.New(slog.NewTextHandler(&logged, nil)), Clock: time.Now,
			Event: func(e node.Event) { fmt.Fprintln(&logged, e.Reason, e.Message) },
		}
		test(t, c, &logged)
	})
}

func TestLogsAreHeldToTheirBudget(t *testing.T) {
	s := &shelf{budget: gc.LogBudget{Bytes: 1000, Files: 10}}
	s.put("gone-uid", "kept/gone/main/0.log", 0, 400)
	s.put("web-uid", "web/main/0.log", 0, 200)
	s.put("web-uid", "web/main/1.log.20260102-150405.gz", 1, 100)
	s.put("web-uid", "web/main/1.log", 1, 300)
	collecting(t, s, func(t *testing.T, c *gc.LogCollector, logged *strings.Builder) {
		go c.Run(t.Context())
		rest := func(want string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			s.wantRemoved(t, want)
		}
		rest("")
		s.write("web/main/1.log", 100) // and as much again is expected
		rest("kept/gone/main/0.log")
		rest("")
		s.write("web/main/1.log", 500)
		rest("web/main/1.log.20260102-150405.gz web/main/0.log")
		if logged.Len() > 0 {
			t.Errorf("logged %s, want nothing while the budget holds", logged)
		}
		s.write("web/main/1.log", 500) // nothing can be done about it
		rest("")
		rest("")
		if strings.Count(logged.String(), "--container-log-budget") != 1 {
			t.Errorf("logged %s, want the flag named once", logged)
		}
	})
}

func TestAFullDiskOfLogsIsToldOnceItHasNothingToGive(t *testing.T) {
	s := &shelf{budget: gc.LogBudget{Bytes: 1000, Files: 10, Full: true}}
	s.put("gone-uid", "kept/gone/main/0.log", 0, 100)
	s.put("web-uid", "web/main/0.log", 0, 100)
	s.put("web-uid", "web/main/1.log", 1, 300)
	collecting(t, s, func(t *testing.T, c *gc.LogCollector, logged *strings.Builder) {
		go c.Run(t.Context())
		synctest.Wait()
		if s.wantRemoved(t, "kept/gone/main/0.log"); logged.Len() > 0 {
			t.Errorf("told %s, want nothing as long as something can go", logged)
		}
		for _, full := range []bool{true, true, false, true} {
			s.mu.Lock()
			s.budget.Full = full
			s.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		if s.wantRemoved(t, ""); strings.Count(logged.String(), "LogDiskFull") != 2 {
			t.Errorf("told %s, want each time once", logged)
		}
	})
}

func TestWhatIsKeptIsListedAndGoesFirstWhenADiskIsShort(t *testing.T) {
	s := &shelf{budget: gc.LogBudget{Bytes: 1000, Files: 10}, stuck: "kept/gone/main/1.log"}
	s.put("gone-uid", "kept/gone/main/0.log", 0, 100)
	s.put("gone-uid", "kept/gone/main/1.log", 1, 100)
	s.put("web-uid", "kept/web/main/0.log", 0, 100)
	s.put("web-uid", "web/main/1.log", 1, 300)
	collecting(t, s, func(t *testing.T, c *gc.LogCollector, _ *strings.Builder) {
		check := func(what string, want ...string) {
			t.Helper()
			all, err := c.Garbage(t.Context())
			if err != nil || len(all) != len(want) {
				t.Fatalf("%s: got %+v, %v, want %d", what, all, err, len(want))
			}
			for i, g := range all {
				text := strings.Join([]string{g.Name, g.Why, g.Kept}, "; ")
				if g.Kind != node.GarbageLogs || g.Key != web || g.Bytes == 0 || !strings.HasPrefix(text, want[i]) {
					t.Errorf("%s: got %+v, want %q", what, g, want[i])
				}
			}
		}
		check("within the budget", "kept/gone; its pod is deleted; all logs take 600 bytes, and --container-log-budget allows 1000",
			"kept/web; its pod no longer has the runs that wrote it; all logs take 600")
		s.budget.Bytes = 500
		check("one of two files goes", "kept/gone; its pod is deleted; all logs take 500", "kept/web; its pod no longer")
		s.budget.Bytes = 400
		check("both go", "kept/gone; its pod is deleted; ", "kept/web; its pod no longer has the runs that wrote it; all logs take 400")
		s.wantRemoved(t, "")

		if freed, err := c.Reclaim(); err == nil || freed != 300 {
			t.Errorf("freed %d, %v, want 300 bytes, and that one file is stuck", freed, err)
		}
		s.wantRemoved(t, "kept/gone/main/0.log kept/web/main/0.log")
		s.stuck = ""
		if _, err := c.Reclaim(); err != nil {
			t.Error(err)
		}
		check("all is gone")
	})
}
