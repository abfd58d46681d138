package cri

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestStatsCountRunningContainers(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		sandbox := f.sandbox("u1")
		id := f.start(sandbox, "run")
		time.Sleep(10 * time.Second)
		list, err := f.cri.ListContainerStats(f.Context(), &runtime.ListContainerStatsRequest{})
		f.wantCode(err, codes.OK)
		if got := len(list.GetStats()); got != 1 {
			f.Fatalf("got stats of %d containers, want 1", got)
		}
		if got, want := list.GetStats()[0].GetCpu().GetUsageCoreNanoSeconds().GetValue(), uint64(10*time.Millisecond); got != want {
			f.Errorf("cpu: got %d, want %d", got, want)
		}
		pods, err := f.cri.ListPodSandboxStats(f.Context(), &runtime.ListPodSandboxStatsRequest{})
		f.wantCode(err, codes.OK)
		if got := len(pods.GetStats()[0].GetLinux().GetContainers()); got != 1 {
			f.Errorf("got %d containers in the pod's stats, want 1", got)
		}
		if err := f.server.Kill(id, 1); err != nil {
			f.Fatal(err)
		}
		_, err = f.cri.ContainerStats(f.Context(), &runtime.ContainerStatsRequest{ContainerId: id})
		f.wantCode(err, codes.Unknown)
	})
}

func TestStatsFollowTheConfiguredLoad(t *testing.T) {
	load := func(c Container, ran time.Duration) (time.Duration, uint64) { return 2 * ran, uint64(len(c.Name)) }
	inBubble(t, Config{Load: load}, func(f *fixture) {
		id := f.start(f.sandbox("u1"), "run")
		time.Sleep(10 * time.Second)
		got, err := f.cri.ContainerStats(f.Context(), &runtime.ContainerStatsRequest{ContainerId: id})
		f.wantCode(err, codes.OK)
		if cpu, want := got.GetStats().GetCpu().GetUsageCoreNanoSeconds().GetValue(), uint64(20*time.Second); cpu != want {
			f.Errorf("cpu: got %d, want %d", cpu, want)
		}
		if got.GetStats().GetMemory().GetWorkingSetBytes().GetValue() == memoryBytes {
			f.Error("memory: got the default, want the configured amount")
		}
	})
}

func TestUpdateChangesOnlyTheLimitsItNames(t *testing.T) {
	have := &runtime.LinuxContainerResources{CpuShares: 100, MemoryLimitInBytes: 1 << 20}
	got := mergeLimits(have, &runtime.LinuxContainerResources{CpuShares: 200})
	if got.GetCpuShares() != 200 || got.GetMemoryLimitInBytes() != 1<<20 {
		t.Errorf("got shares %d, memory %d, want 200, %d", got.GetCpuShares(), got.GetMemoryLimitInBytes(), 1<<20)
	}
	if have.GetCpuShares() != 100 {
		t.Error("the update changed the limits that it was laid over")
	}
}
