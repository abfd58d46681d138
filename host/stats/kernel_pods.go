package stats

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/cadvisor/lib/model"
	"golang.org/x/sync/errgroup"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

// podGroups are the cgroups of a pod that the kernel counts for.
type podGroups struct {
	pod     *node.Pod
	whole   group
	counts  *model.ContainerStats // of the whole, once they are read
	sandbox *runGroup             // nil: there is none, or it has no cgroup of its own
	runs    []runGroup
}

// runGroup is the cgroup of a container, or of a sandbox.
type runGroup struct {
	group
	id      string
	run     *node.Container // nil: a sandbox
	created time.Time
	counts  *model.ContainerStats // nil: not read
}

// groups finds the cgroups of all pods, and says whether each pod that runs has its own.
func (c *Collector) groups() (found []podGroups, all bool) {
	views, _ := c.config.Views()
	all = true
	for _, v := range views {
		if v.Slot == nil || v.Got == nil || v.Gone || len(v.Got.Sandboxes) == 0 {
			continue
		}
		of, ok := c.groupsOf(v)
		if ok {
			found = append(found, of)
		} else if ready(v.Got) {
			all = false
		}
	}
	return found, all
}

// children finds the cgroups in this one by what the runtime calls them.
func (g group) children() func(id string) (group, bool) {
	names := sync.OnceValue(func() []os.DirEntry {
		entries, _ := os.ReadDir(g.file("memory", "")) // one that is gone has none
		return entries
	})
	return func(id string) (group, bool) {
		plain := group{g.in, filepath.Join(g.path, id)}
		if plain.there() {
			return plain, true
		}
		for _, e := range names() {
			if e.IsDir() && strings.Contains(e.Name(), id) { // runtimes on systemd put words around it
				return group{g.in, filepath.Join(g.path, e.Name())}, true
			}
		}
		return group{}, false
	}
}

func ready(got *node.Observed) bool {
	for i := range got.Sandboxes {
		if got.Sandboxes[i].State == node.SandboxReady {
			return true
		}
	}
	return false
}

// groupsOf finds the cgroup of a pod and, by the runtime's ids, those in it.
func (c *Collector) groupsOf(v node.View) (podGroups, bool) {
	in := c.config.Cgroups
	of := podGroups{pod: v.Slot.Pod}
	if in.Pod == nil {
		return of, false
	}
	of.whole = group{in, in.Pod(of.pod.Object)}
	if of.whole.path == "" {
		return of, false
	}
	child := of.whole.children()
	for i := range v.Got.Sandboxes {
		s := &v.Got.Sandboxes[i]
		if g, ok := child(s.ID); ok && s.UID == of.pod.UID() && s.State == node.SandboxReady {
			of.sandbox = &runGroup{group: g, id: s.ID, created: s.CreatedAt}
		}
	}
	for i := range v.Got.Containers {
		run := &v.Got.Containers[i]
		if g, ok := child(run.ID); ok && run.UID == of.pod.UID() && run.State == node.ContainerRunning {
			of.runs = append(of.runs, runGroup{group: g, id: run.ID, run: run})
		}
	}
	return of, of.sandbox != nil || len(of.runs) > 0
}

// each does something so often, as many at once as there are processors.
func each(count int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range count {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // none of them fails
}

// kernelPods reads what the kernel counts of pods. One whose cgroup goes meanwhile is
// left out.
func kernelPods(c *Collector, of []podGroups) func(*collection) {
	stats := make([]*statsapi.PodStats, len(of))
	each(len(of), func(i int) { stats[i] = c.kernelPod(&of[i]) })
	return func(s *collection) {
		for i, p := range stats {
			if p != nil {
				s.Pods, s.groups = append(s.Pods, *p), append(s.groups, of[i])
			}
		}
	}
}

func (c *Collector) kernelPod(of *podGroups) *statsapi.PodStats {
	counts, ok := of.whole.stats()
	if !ok {
		return nil
	}
	of.counts = counts
	o := of.pod.Object
	pod := &statsapi.PodStats{
		PodRef:    statsapi.PodReference{Name: o.Name, Namespace: o.Namespace, UID: string(o.UID)},
		StartTime: at(of.pod.Accepted), Containers: []statsapi.ContainerStats{},
		CPU: cpuStats(counts, of.whole.in.Version), Memory: memoryStats(counts, of.whole), IO: ioStats(counts, of.whole.in.Version), Swap: swapStats(counts),
	}
	processes := 0
	if of.sandbox != nil {
		own := of.sandbox.processes()
		processes = len(own)
		if len(own) > 0 && !o.Spec.HostNetwork {
			pod.Network = c.podNetwork(own[0])
		}
	}
	for i := range of.runs {
		r := &of.runs[i]
		counts, ok := r.stats()
		if !ok {
			continue
		}
		r.counts = counts
		processes += len(r.processes())
		pod.Containers = append(pod.Containers, statsapi.ContainerStats{
			Name: r.run.Name, StartTime: at(r.run.StartedAt),
			CPU: cpuStats(counts, r.in.Version), Memory: memoryStats(counts, r.group), IO: ioStats(counts, r.in.Version), Swap: swapStats(counts),
		})
	}
	pod.ProcessStats = &statsapi.ProcessStats{ProcessCount: new(uint64(processes))}
	return pod
}

// podNetwork is what went through the interfaces that a process of a pod sees.
func (c *Collector) podNetwork(pid string) *statsapi.NetworkStats {
	table, err := c.read(pid + "/net/dev")
	if err != nil {
		return nil // it ended meanwhile
	}
	return networkStats(interfacesOf(table), podInterface)
}

func cpuStats(s *model.ContainerStats, version int) *statsapi.CPUStats {
	cpu := &statsapi.CPUStats{Time: at(s.Timestamp), UsageCoreNanoSeconds: new(s.Cpu.Usage.Total)}
	if version == 2 {
		cpu.PSI = apiPSI(s.Cpu.PSI)
	}
	return cpu
}

func memoryStats(s *model.ContainerStats, of group) *statsapi.MemoryStats {
	m := s.Memory
	memory := &statsapi.MemoryStats{
		Time: at(s.Timestamp), UsageBytes: new(m.Usage), WorkingSetBytes: new(m.WorkingSet), RSSBytes: new(m.RSS),
		PageFaults: new(m.ContainerData.Pgfault), MajorPageFaults: new(m.ContainerData.Pgmajfault),
	}
	if limit := of.memoryLimit(); limit > 0 {
		memory.AvailableBytes = new(limit - min(limit, m.WorkingSet))
	}
	if of.in.Version == 2 {
		memory.PSI = apiPSI(m.PSI)
	}
	return memory
}

// ioStats are pressure alone, which version 1 does not count.
func ioStats(s *model.ContainerStats, version int) *statsapi.IOStats {
	if version != 2 {
		return nil
	}
	return &statsapi.IOStats{Time: at(s.Timestamp), PSI: apiPSI(s.DiskIo.PSI)}
}

func swapStats(s *model.ContainerStats) *statsapi.SwapStats {
	return &statsapi.SwapStats{Time: at(s.Timestamp), SwapUsageBytes: new(s.Memory.Swap)}
}

func apiPSI(psi model.PSIStats) *statsapi.PSIStats {
	return &statsapi.PSIStats{Full: statsapi.PSIData(psi.Full), Some: statsapi.PSIData(psi.Some)}
}
