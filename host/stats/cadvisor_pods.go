package stats

import (
	"maps"
	"time"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/node/store"
)

// runtimeInfos describes the pods for which the runtime has the figures, and their containers. They have no cgroup
// here, so they are named by the runtime's ids. Like the node, they have no spec.
func (c *Collector) runtimeInfos(found *collection) []*model.ContainerInfo {
	known := map[string]*statsapi.PodStats{}
	for i := range found.Pods {
		known[found.Pods[i].PodRef.UID] = &found.Pods[i]
	}
	for i := range found.groups {
		delete(known, string(found.groups[i].pod.UID()))
	}
	if len(known) == 0 {
		return nil
	}
	var infos []*model.ContainerInfo
	views, _ := c.config.Views()
	for _, v := range views {
		if v.Slot == nil || v.Got == nil || known[string(v.Slot.Pod.UID())] == nil {
			continue
		}
		infos = append(infos, found.runtimePod(v, known[string(v.Slot.Pod.UID())])...)
	}
	return infos
}

func (c *collection) runtimePod(v store.View, pod *statsapi.PodStats) []*model.ContainerInfo {
	var infos []*model.ContainerInfo
	labels := map[string]string{kubelettypes.KubernetesPodNameLabel: pod.PodRef.Name, kubelettypes.KubernetesPodNamespaceLabel: pod.PodRef.Namespace}
	if home := v.Got.Home(v.Slot.Pod.UID()); home != nil {
		info := runtimeInfo(home.ID, labels, pod.CPU, pod.Memory)
		info.Spec.CreationTime = v.Slot.Pod.Begun()
		infos = append(infos, info)
	}
	for i := range pod.Containers {
		of := &pod.Containers[i]
		run := v.Got.Newest(v.Slot.Pod.UID(), of.Name)
		if run == nil {
			continue
		}
		own := maps.Clone(labels)
		own[kubelettypes.KubernetesContainerNameLabel] = of.Name
		info := runtimeInfo(run.ID, own, of.CPU, of.Memory)
		info.Spec.Image, info.Spec.CreationTime, info.Spec.StartTime = run.Image, run.CreatedAt, run.StartedAt
		info.Stats[0].Filesystem = c.written(pod.PodRef.UID, of.Name)
		infos = append(infos, info)
	}
	return infos
}

func runtimeInfo(id string, labels map[string]string, cpu *statsapi.CPUStats, memory *statsapi.MemoryStats) *model.ContainerInfo {
	s := &model.ContainerStats{Timestamp: time.Now(), Memory: fewOfMemory(memory)}
	if cpu != nil && cpu.UsageCoreNanoSeconds != nil {
		s.Timestamp = cpu.Time.Time
		s.Cpu = &model.CpuStats{Usage: model.CpuUsage{Total: *cpu.UsageCoreNanoSeconds}, PSI: psiOrNone(cpu.PSI)}
	}
	return &model.ContainerInfo{
		ContainerReference: model.ContainerReference{Name: "/" + id, Aliases: []string{id}},
		Spec:               model.ContainerSpec{Labels: labels}, Stats: []*model.ContainerStats{s},
	}
}
