package stats

import (
	"context"
	"errors"
	"os"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/health"
	"nodal/node/store"
)

func TestPodsUseWhatTheKernelCountsNow(t *testing.T) {
	for version := range kernels {
		c, dir := kernelCollector(t, version)
		memory, err := c.PodMemory(t.Context())
		if use := memory["2"]; err != nil || len(memory) != 1 || use.Total != 900 || use.Containers["main"] != 900 {
			t.Errorf("version %d: got %+v, %v; want 900 bytes of db in main", version, memory, err)
		}
		if tasks := c.PodTasks(); len(tasks) != 1 || tasks["2"].Total != 3 {
			t.Errorf("version %d: got %+v, want 3 tasks of db", version, tasks)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		c.tree.forget()
		memory, _ = c.PodMemory(t.Context())
		if tasks := c.PodTasks(); len(memory)+len(tasks) > 0 {
			t.Errorf("version %d: got %+v and %+v of a pod that is gone", version, memory, tasks)
		}
	}
}

// heavy is a runtime with a pod that uses 4096 bytes.
type heavy struct{ *scripted }

func (heavy) PodStats(context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	bytes := &runtimeapi.MemoryUsage{WorkingSetBytes: &runtimeapi.UInt64Value{Value: 4096}}
	return []*runtimeapi.PodSandboxStats{{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: "s1", Labels: map[string]string{"io.kubernetes.pod.uid": "1"}},
		Linux: &runtimeapi.LinuxPodSandboxStats{Memory: bytes, Containers: []*runtimeapi.ContainerStats{{
			Attributes: &runtimeapi.ContainerAttributes{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}}, Memory: bytes,
		}}},
	}}, nil
}

func TestPodsThatTheRuntimeCountsForUseMemoryToo(t *testing.T) {
	c := collector(t, &scripted{})
	c.config.Runtime = heavy{&scripted{}}
	web := podOn("web", "1", "c1")
	c.config.Views = func() ([]store.View, int64) { return []store.View{web}, 0 }
	memory, err := c.PodMemory(t.Context())
	if use := memory["1"]; err != nil || use.Total != 4096 || use.Containers["main"] != 4096 {
		t.Errorf("got %+v, %v; want 4096 bytes of web", memory, err)
	}
	c.config.Runtime = &scripted{lacks: errors.New("no stats here")}
	if memory, err := c.PodMemory(t.Context()); err == nil || len(memory) > 0 {
		t.Errorf("got %+v, %v; want nothing, and why", memory, err)
	}
}

func TestTheLimitOfAllPodsLeavesMemory(t *testing.T) {
	for version := range kernels {
		c, _ := kernelCollector(t, version)
		if _, read := c.Signals(t.Context()).Signal(health.AllocatableMemoryAvailable); read {
			t.Errorf("version %d: the signal is there before the cgroups are", version)
		}
		c.tree.in.System = func() map[string]string { return map[string]string{"pods": "/kubepods"} }
		s, read := c.Signals(t.Context()).Signal(health.AllocatableMemoryAvailable)
		if !read || s.Left != 3100 || s.Capacity != 4000 {
			t.Errorf("version %d: got %+v, %t; want 3100 of 4000 left", version, s, read)
		}
	}
}
