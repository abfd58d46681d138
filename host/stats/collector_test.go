package stats

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/store"
)

// scripted is a runtime that counts requests, and may hang or have no stats.
type scripted struct {
	asked atomic.Int32
	hangs bool
	lacks error
}

func (s *scripted) PodStats(ctx context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	s.asked.Add(1)
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.lacks != nil {
		return nil, s.lacks
	}
	labels := map[string]string{
		"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "1",
	}
	return []*runtimeapi.PodSandboxStats{
		{Attributes: &runtimeapi.PodSandboxAttributes{Id: "foreign"}},
		{Attributes: &runtimeapi.PodSandboxAttributes{Id: "s1", Labels: labels}, Linux: &runtimeapi.LinuxPodSandboxStats{
			Cpu: &runtimeapi.CpuUsage{UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: 7}},
		}},
	}, nil
}

func (s *scripted) Layers(context.Context) ([]*runtimeapi.ContainerStats, error) {
	if s.lacks != nil {
		return nil, s.lacks
	}
	return []*runtimeapi.ContainerStats{{
		Attributes: &runtimeapi.ContainerAttributes{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Labels: map[string]string{"io.kubernetes.pod.uid": "2"},
		},
		WritableLayer: &runtimeapi.FilesystemUsage{UsedBytes: &runtimeapi.UInt64Value{Value: 12}},
	}}, nil
}

func (s *scripted) ImageUsage(context.Context) (*runtimeapi.FilesystemUsage, error) {
	return nil, errors.New("no images here")
}

func collector(t *testing.T, s *scripted) *Collector {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"stat":    "cpu  100 0 50 1000 7 1 1 9 0 0\ncpu0 1 2 3\n",
		"meminfo": "MemTotal: 1000 kB\nMemFree: 400 kB\nInactive(file): 100 kB\nAnonPages: 50 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
		"loadavg": "0.1 0.2 0.3 2/321 999\n", "sys/kernel/pid_max": "4000\n", "sys/kernel/threads-max": "3000\n",
		"net/dev":      "Inter-| Receive\n face |bytes\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 70 5 2 0 0 0 0 0 80 6 3 0 0 0 0 0\n",
		"net/route":    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\n",
		"pressure/cpu": "some avg10=1.50 avg60=0.00 avg300=0.00 total=42\n",
	} {
		if err := os.MkdirAll(dir+"/"+name[:max(strings.LastIndex(name, "/"), 0)], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The runtime alone counts for this pod.
	web := podOn("web", "1", "virtual")
	views := func() ([]store.View, int64) { return []store.View{web}, 0 }
	return New(Config{Runtime: s, Views: views, NodeName: "node1", Root: dir, Proc: dir})
}

func TestFiguresOfTheNodeAreTheKernels(t *testing.T) {
	got, err := collector(t, &scripted{}).Summary(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no images here") {
		t.Errorf("got %v, want an error that names images", err)
	}
	n := got.Node
	if *n.CPU.UsageCoreNanoSeconds != 1_520_000_000 || n.CPU.PSI.Some.Total != 42 || n.Memory.PSI != nil {
		t.Errorf("processor: got %d and %+v", *n.CPU.UsageCoreNanoSeconds, n.CPU.PSI)
	}
	if *n.Memory.UsageBytes != 600<<10 || *n.Memory.WorkingSetBytes != 500<<10 || *n.Swap.SwapUsageBytes != 6<<10 {
		t.Errorf("memory: got %d, %d and %d", *n.Memory.UsageBytes, *n.Memory.WorkingSetBytes, *n.Swap.SwapUsageBytes)
	}
	if *n.Rlimit.MaxPID != 3000 || *n.Rlimit.NumOfRunningProcesses != 321 || n.Fs == nil {
		t.Errorf("processes: got %+v; disk: %+v", n.Rlimit, n.Fs)
	}
	if w := n.Network; len(w.Interfaces) != 1 || w.Name != "eth0" || *w.RxBytes != 70 || *w.RxErrors != 2 || *w.TxBytes != 80 || *w.TxErrors != 3 {
		t.Errorf("network: got %+v", w)
	}
	if len(got.Pods) != 1 || got.Pods[0].PodRef.Name != "web" || *got.Pods[0].CPU.UsageCoreNanoSeconds != 7 {
		t.Errorf("got pods %+v, want only web", got.Pods)
	}
}

func TestPodsThatTheRuntimeCountsForAreAmongTheCgroups(t *testing.T) {
	got, _ := collector(t, &scripted{}).Cgroups(t.Context())
	if len(got) != 2 || got[1].Name != "/sandbox1" || got[1].Spec.Labels["io.kubernetes.pod.name"] != "web" {
		t.Fatalf("got %+v, want the node and web", got)
	}
	if s := got[1].Stats[0]; s.Cpu.Usage.Total != 7 || s.Memory != nil || got[1].Spec.HasMemory {
		t.Errorf("got %+v, want the processor's time alone, which is all that the runtime tells", s)
	}
}

func TestReadersShareACollectionWhileItIsFresh(t *testing.T) {
	s := &scripted{}
	c := collector(t, s)
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			go func() { _, _ = c.Summary(t.Context()) }()
		}
		synctest.Wait()
		if got := s.asked.Load(); got != 1 {
			t.Errorf("five at once: got %d collections, want 1", got)
		}
		<-time.After(2 * freshness)
		_, _ = c.Summary(t.Context())
		if got := s.asked.Load(); got != 2 {
			t.Errorf("later: got %d collections, want 2", got)
		}
	})
}

func TestARuntimeThatHangsKeepsNoOtherFigureBack(t *testing.T) {
	c := collector(t, &scripted{hangs: true})
	synctest.Test(t, func(t *testing.T) {
		got, err := c.Summary(t.Context())
		if err == nil || got.Node.Memory == nil || len(got.Pods) != 0 {
			t.Errorf("got %+v and %v, want the node without pods", got, err)
		}
	})
}

func TestARuntimeWithoutStatsKeepsNoOtherFigureBack(t *testing.T) {
	got, err := collector(t, &scripted{lacks: errors.New("unknown method")}).Summary(t.Context())
	for _, what := range []string{"pods that the runtime counts for", "what containers wrote", "unknown method"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want an error that names %s", err, what)
		}
	}
	if got.Node.CPU == nil || got.Node.Network == nil || len(got.Pods) != 0 {
		t.Errorf("got %+v, want the node without pods", got)
	}
}

func TestAReadingThatHangsIsNotBegunTwice(t *testing.T) {
	waits := parts{}
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		over := make(chan struct{})
		stuck := part{"a dead disk", func(context.Context) (func(*collection), error) {
			asked.Add(1)
			<-over
			return func(*collection) {}, nil
		}}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := waits.hear(ctx, stuck, waits.ask(ctx, stuck)); err == nil {
				t.Error("it answers, want an error")
			}
			cancel()
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("it was asked %d times, want once", got)
		}
		close(over)
		synctest.Wait()
		if _, err := waits.hear(t.Context(), stuck, waits.ask(t.Context(), stuck)); err != nil || asked.Load() != 2 {
			t.Errorf("once it is back: got %v after %d questions, want figures after 2", err, asked.Load())
		}
	})
}
