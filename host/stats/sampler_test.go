package stats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node"
	"nodal/node/history"
	"nodal/node/store"
)

// sampled is a sampler of the pods in a list that a test changes.
type sampled struct {
	*Sampler
	dir      string
	views    []store.View
	revision int64
}

func samplerOf(t *testing.T, version int) *sampled {
	t.Helper()
	dir, in := kernel(t, version)
	proc := t.TempDir()
	lay(t, proc, map[string]string{
		"stat":    "cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 100 0 50 1000 10 0 0 5 0 0\nintr 5\n",
		"meminfo": "MemTotal:       1000 kB\nMemFree:         300 kB\nActive(file):     7 kB\nInactive(file):   100 kB\n",
		"loadavg": "0.10 0.20 0.30 2/345 999\n",
	})
	s := &sampled{dir: dir, revision: 1}
	s.Sampler = NewSampler(SamplerConfig{
		Cgroups: in, Proc: proc, Views: func() ([]store.View, int64) { return s.views, s.revision },
		Revision: func() int64 { return s.revision },
	})
	t.Cleanup(s.Close)
	s.show(podOn("db", "2", "c2"))
	return s
}

// show changes which pods there are.
func (s *sampled) show(views ...store.View) {
	s.revision++
	for i := range views {
		views[i].Revision = s.revision
	}
	s.views = views
}

func TestASampleHoldsWhatTheKernelCounts(t *testing.T) {
	for version := range kernels {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			s, now := samplerOf(t, version), start
			first := s.Sample(now)
			if len(first.Of) != 2 || first.Of[0].CPU != history.UnknownCPU || first.Of[1].CPU != history.UnknownCPU {
				t.Fatalf("got %+v, want the node and db, without a CPU before there is a second reading", first.Of)
			}
			lay(t, s.dir, map[string]string{
				map[int]string{1: "cpuacct/kubepods/pod2/cpuacct.usage", 2: "kubepods/pod2/cpu.stat"}[version]: map[int]string{1: "3300000000\n", 2: "usage_usec 3300000\nuser_usec 1\n"}[version],
			})
			lay(t, s.config.Proc, map[string]string{"stat": "cpu  250 0 50 1000 10 0 0 5 0 0\n"})
			second := s.Sample(now.Add(15 * time.Second))
			machine, db := second.Of[0], second.Of[1]
			if db.UID != "2" || db.Key != (node.Key{Namespace: "default", Name: "db"}) {
				t.Errorf("got %+v, want db", db.Series)
			}
			// 0.3 s in 15 s; 1000 bytes less 100 that are inactive: a page.
			if want := (history.Figures{CPU: 200, Pages: 1, Tasks: 3}); db.Figures != want {
				t.Errorf("db: got %+v, want %+v", db.Figures, want)
			}
			if db.MemoryLimit != 4000 || db.CPULimit != 500 {
				t.Errorf("db has limits %d and %d, want 4000 and 500", db.MemoryLimit, db.CPULimit)
			}
			if want := (history.Figures{CPU: 1000, Pages: 150, Tasks: 345}); machine.Figures != want || machine.UID != "" {
				t.Errorf("node: got %+v, want %+v", machine.Figures, want)
			}
		})
	}
}

func TestASampleFollowsThePods(t *testing.T) {
	s := samplerOf(t, 2)
	s.Sample(start)
	lay(t, s.dir, map[string]string{
		"kubepods/pod3/cpu.stat": "usage_usec 1\n", "kubepods/pod3/memory.current": "8192\n", "kubepods/pod3/pids.current": "1\n",
	})
	web := podOn("web", "3", "c3")
	s.show(web, podOn("db", "2", "c2"))
	if got := s.Sample(start.Add(time.Second)); len(got.Of) != 3 || got.Of[1].UID != "2" || got.Of[2].UID != "3" || got.Of[2].Pages != 2 {
		t.Fatalf("got %+v, want db in its place, and web behind it", got.Of)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "kubepods/pod2")); err != nil {
		t.Fatal(err)
	}
	s.show(web)
	if got := s.Sample(start.Add(2 * time.Second)); len(got.Of) != 2 || got.Of[1].UID != "3" {
		t.Errorf("got %+v, want web alone", got.Of)
	}
}

func TestANewLimitBeginsANewSeries(t *testing.T) {
	s := samplerOf(t, 2)
	before := s.Sample(start).Of[1].Series
	lay(t, s.dir, map[string]string{"kubepods/pod2/memory.max": "max\n"})
	if got := s.Sample(start.Add(time.Second)).Of[1].Series; got != before {
		t.Error("limits were read without a change of the pod")
	}
	s.show(podOn("db", "2", "c2"))
	got := s.Sample(start.Add(2 * time.Second)).Of[1]
	if got.MemoryLimit != 0 || before.MemoryLimit != 4000 || got.CPU == history.UnknownCPU {
		t.Errorf("got %+v after %+v, want no limit, and the CPU counted on", got, before)
	}
}

func TestASampleOfTheSamePodsAllocatesNothing(t *testing.T) {
	for version := range kernels {
		s, now := samplerOf(t, version), start
		s.Sample(now)
		if got := testing.AllocsPerRun(100, func() {
			now = now.Add(15 * time.Second)
			s.Sample(now)
		}); got != 0 {
			t.Errorf("version %d: got %v allocations", version, got)
		}
	}
}

func TestClosedSamplersHoldNoFile(t *testing.T) {
	s := samplerOf(t, 1)
	s.Sample(start)
	if now := s.open(t); now != cgroupFileCount+nodeFileCount {
		t.Errorf("%d files are open, want %d", now, cgroupFileCount+nodeFileCount)
	}
	s.Close()
	if now := s.open(t); now != 0 {
		t.Errorf("%d files are still open", now)
	}
}

// open counts the sampler's open files. Those of other tests may be closed at any time.
func (s *sampled) open(t *testing.T) (count int) {
	t.Helper()
	found, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		file, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err == nil && (strings.HasPrefix(file, s.dir+"/") || strings.HasPrefix(file, s.config.Proc+"/")) {
			count++
		}
	}
	return count
}

func TestValuesAreFoundByWholeNames(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       uint64
	}{
		{"a 1\nb 2\n", "b", 2}, {"ab 1\nb 2\n", "b", 2}, {"bc 1\nb 2\n", "b", 2}, {"b 7", "b", 7}, {"b", "b", 0},
		{"", "b", 0}, {"MemTotal:   12 kB\n", "MemTotal", 12}, {"b max\n", "b", 0},
	} {
		if got := valueOf([]byte(c.text), []byte(c.name)); got != c.want {
			t.Errorf("%q in %q: got %d, want %d", c.name, c.text, got, c.want)
		}
	}
}

// A sample of real cgroups, where the benchmark may make some.
func BenchmarkSampleOfAHundredPods(b *testing.B) {
	const pods = 100
	in := realOnes(b, pods)
	var views []store.View
	for i := range pods {
		views = append(views, podOn(fmt.Sprintf("web-%d", i), fmt.Sprint(i), fmt.Sprintf("container%d", i)))
	}
	s := NewSampler(SamplerConfig{
		Cgroups: in, Views: func() ([]store.View, int64) { return views, 0 }, Revision: func() int64 { return 0 },
	})
	defer s.Close()
	now := time.Now()
	if got := s.Sample(now); len(got.Of) != pods+1 {
		b.Fatalf("got %d series, want the node and %d pods", len(got.Of), pods)
	}
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		now = now.Add(15 * time.Second)
		s.Sample(now)
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/1e6, "cpu-ms/op")
}

func cpuTime() int64 {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}
