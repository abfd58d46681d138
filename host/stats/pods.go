package stats

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"
)

const podInterface = "eth0" // CNI's name for a pod's interface

// runtimePods asks the runtime for the figures of pods that have no cgroup here, such as pods in virtual machines.
func (c *Collector) runtimePods(ctx context.Context) (func(*collection), error) {
	from, err := c.config.Runtime.PodStats(ctx)
	if err != nil {
		return nil, err
	}
	starts := c.starts()
	return func(s *collection) {
		counted := map[string]bool{}
		for i := range s.Pods {
			counted[s.Pods[i].PodRef.UID] = true
		}
		for _, t := range from {
			uid := t.GetAttributes().GetLabels()[kubelettypes.KubernetesPodUIDLabel]
			if uid != "" && !counted[uid] { // others are not a kubelet's, or have figures already
				s.Pods = append(s.Pods, podOf(t, starts))
			}
		}
	}, nil
}

func byName(a, b statsapi.PodStats) int {
	return cmp.Or(cmp.Compare(a.PodRef.Namespace, b.PodRef.Namespace), cmp.Compare(a.PodRef.Name, b.PodRef.Name),
		cmp.Compare(a.PodRef.UID, b.PodRef.UID))
}

// starts returns when containers and sandboxes were started, by the runtime's ids.
func (c *Collector) starts() map[string]time.Time {
	views, _ := c.config.Views()
	starts := make(map[string]time.Time, 2*len(views))
	for _, v := range views {
		if v.Got == nil {
			continue
		}
		for _, s := range v.Got.Sandboxes {
			starts[s.ID] = s.CreatedAt
		}
		for _, run := range v.Got.Containers {
			starts[run.ID] = run.StartedAt
		}
	}
	return starts
}

func podOf(s *runtimeapi.PodSandboxStats, starts map[string]time.Time) statsapi.PodStats {
	id, linux := s.GetAttributes(), s.GetLinux()
	pod := statsapi.PodStats{
		PodRef: statsapi.PodReference{
			Name:      id.GetLabels()[kubelettypes.KubernetesPodNameLabel],
			Namespace: id.GetLabels()[kubelettypes.KubernetesPodNamespaceLabel],
			UID:       id.GetLabels()[kubelettypes.KubernetesPodUIDLabel],
		},
		StartTime:  at(starts[id.GetId()]),
		CPU:        cpuOf(linux.GetCpu()),
		Memory:     memoryOf(linux.GetMemory()),
		IO:         ioOf(linux.GetIo()),
		Network:    networkOf(linux.GetNetwork()),
		Containers: []statsapi.ContainerStats{},
	}
	if n := linux.GetProcess().GetProcessCount(); n != nil {
		pod.ProcessStats = &statsapi.ProcessStats{ProcessCount: value(n)}
	}
	all := linux.GetContainers()
	slices.SortFunc(all, func(a, b *runtimeapi.ContainerStats) int {
		return cmp.Compare(a.GetAttributes().GetMetadata().GetName(), b.GetAttributes().GetMetadata().GetName())
	})
	for _, from := range all {
		pod.Containers = append(pod.Containers, containerOf(from, starts))
	}
	return pod
}

func containerOf(s *runtimeapi.ContainerStats, starts map[string]time.Time) statsapi.ContainerStats {
	container := statsapi.ContainerStats{
		Name:      s.GetAttributes().GetMetadata().GetName(),
		StartTime: at(starts[s.GetAttributes().GetId()]),
		CPU:       cpuOf(s.GetCpu()), Memory: memoryOf(s.GetMemory()), IO: ioOf(s.GetIo()),
	}
	if layer := s.GetWritableLayer(); layer != nil {
		container.Rootfs = layerOf(layer)
	}
	if swap := s.GetSwap(); swap != nil {
		container.Swap = &statsapi.SwapStats{
			Time: stamp(swap.GetTimestamp()), SwapUsageBytes: value(swap.GetSwapUsageBytes()),
			SwapAvailableBytes: value(swap.GetSwapAvailableBytes()),
		}
	}
	return container
}

func layerOf(layer *runtimeapi.FilesystemUsage) *statsapi.FsStats {
	return &statsapi.FsStats{
		Time: stamp(layer.GetTimestamp()), UsedBytes: value(layer.GetUsedBytes()), InodesUsed: value(layer.GetInodesUsed()),
	}
}

func cpuOf(from *runtimeapi.CpuUsage) *statsapi.CPUStats {
	if from == nil {
		return nil
	}
	return &statsapi.CPUStats{
		Time: stamp(from.GetTimestamp()), PSI: psiOf(from.GetPsi()),
		UsageNanoCores: value(from.GetUsageNanoCores()), UsageCoreNanoSeconds: value(from.GetUsageCoreNanoSeconds()),
	}
}

func memoryOf(from *runtimeapi.MemoryUsage) *statsapi.MemoryStats {
	if from == nil {
		return nil
	}
	memory := &statsapi.MemoryStats{
		Time: stamp(from.GetTimestamp()), PSI: psiOf(from.GetPsi()),
		UsageBytes: value(from.GetUsageBytes()), WorkingSetBytes: value(from.GetWorkingSetBytes()), RSSBytes: value(from.GetRssBytes()),
		PageFaults: value(from.GetPageFaults()), MajorPageFaults: value(from.GetMajorPageFaults()),
	}
	// containerd reports zero for a container without a limit, where Kubernetes has no value.
	if from.GetAvailableBytes().GetValue() > 0 {
		memory.AvailableBytes = value(from.GetAvailableBytes())
	}
	return memory
}

func ioOf(from *runtimeapi.IoUsage) *statsapi.IOStats {
	if from == nil {
		return nil
	}
	return &statsapi.IOStats{Time: stamp(from.GetTimestamp()), PSI: psiOf(from.GetPsi())}
}

func psiOf(from *runtimeapi.PsiStats) *statsapi.PSIStats {
	if from == nil {
		return nil
	}
	data := func(d *runtimeapi.PsiData) statsapi.PSIData {
		return statsapi.PSIData{Total: d.GetTotal(), Avg10: d.GetAvg10(), Avg60: d.GetAvg60(), Avg300: d.GetAvg300()}
	}
	return &statsapi.PSIStats{Full: data(from.GetFull()), Some: data(from.GetSome())}
}

func networkOf(from *runtimeapi.NetworkUsage) *statsapi.NetworkStats {
	way := from.GetDefaultInterface()
	if way == nil {
		return nil
	}
	network := &statsapi.NetworkStats{Time: stamp(from.GetTimestamp()), InterfaceStats: interfaceOf(way)}
	network.Name = cmp.Or(network.Name, podInterface)
	network.Interfaces = append(network.Interfaces, network.InterfaceStats)
	for _, other := range from.GetInterfaces() {
		network.Interfaces = append(network.Interfaces, interfaceOf(other))
	}
	return network
}

func interfaceOf(from *runtimeapi.NetworkInterfaceUsage) statsapi.InterfaceStats {
	return statsapi.InterfaceStats{
		Name: from.GetName(), RxBytes: value(from.GetRxBytes()), RxErrors: value(from.GetRxErrors()),
		TxBytes: value(from.GetTxBytes()), TxErrors: value(from.GetTxErrors()),
	}
}

// value returns nil for a missing figure, to tell it from zero.
func value(from *runtimeapi.UInt64Value) *uint64 {
	if from == nil {
		return nil
	}
	return &from.Value
}

func stamp(nanos int64) metav1.Time { return at(time.Unix(0, nanos)) }

func at(t time.Time) metav1.Time { return metav1.NewTime(t) }
