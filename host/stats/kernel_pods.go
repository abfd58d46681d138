package stats

import (
	"context"
	"time"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

// podGroups are the cgroups of a pod that the kernel counts for.
type podGroups struct {
	pod     *node.Pod
	whole   *group
	counts  *model.ContainerStats // of the whole, once they are read
	sandbox *runGroup             // nil: there is none, or it has no cgroup of its own
	runs    []runGroup
}

// runGroup is the cgroup of a container, or of a sandbox.
type runGroup struct {
	*group
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
	c.tree.sweep()
	return found, all
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
	of := podGroups{pod: v.Slot.Pod}
	if c.tree.in.Pod == nil {
		return of, false
	}
	path := c.tree.in.Pod(of.pod.Object)
	if path == "" {
		return of, false
	}
	of.whole = c.tree.group(path)
	for i := range v.Got.Sandboxes {
		s := &v.Got.Sandboxes[i]
		if s.UID != of.pod.UID() || s.State != node.SandboxReady {
			continue
		}
		if g := c.tree.child(of.whole, s.ID); g != nil {
			of.sandbox = &runGroup{group: g, id: s.ID, created: s.CreatedAt}
		}
	}
	for i := range v.Got.Containers {
		run := &v.Got.Containers[i]
		if run.UID != of.pod.UID() || run.State != node.ContainerRunning {
			continue
		}
		if g := c.tree.child(of.whole, run.ID); g != nil {
			of.runs = append(of.runs, runGroup{group: g, id: run.ID, run: run})
		}
	}
	return of, of.sandbox != nil || len(of.runs) > 0
}

// kernelPods reads what the kernel counts of pods. One whose cgroup goes meanwhile is
// left out.
func (c *Collector) kernelPods(of []podGroups) func(*collection) {
	stats := make([]*statsapi.PodStats, len(of))
	each(len(of), func(r *reader, i int) { stats[i] = kernelPod(r, &of[i]) })
	return func(s *collection) {
		for i, p := range stats {
			if p != nil {
				s.Pods, s.groups = append(s.Pods, *p), append(s.groups, of[i])
			}
		}
	}
}

func kernelPod(r *reader, of *podGroups) *statsapi.PodStats {
	counts, ok := of.whole.usage(r)
	if !ok {
		return nil
	}
	of.counts = counts
	o := of.pod.Object
	pod := &statsapi.PodStats{
		PodRef:    statsapi.PodReference{Name: o.Name, Namespace: o.Namespace, UID: string(o.UID)},
		StartTime: at(of.pod.Accepted), Containers: []statsapi.ContainerStats{},
		CPU: cpuStats(counts, of.whole), Memory: memoryStats(counts, of.whole.memoryLimit(r), of.whole), Swap: swapStats(counts),
	}
	for i := range of.runs {
		run := &of.runs[i]
		counts, ok := run.usage(r)
		if !ok {
			continue
		}
		run.counts = counts
		pod.Containers = append(pod.Containers, statsapi.ContainerStats{
			Name: run.run.Name, StartTime: at(run.run.StartedAt),
			CPU: cpuStats(counts, run.group), Memory: memoryStats(counts, run.memoryLimit(r), run.group), Swap: swapStats(counts),
		})
	}
	return pod
}

// podRest is what a summary has of a pod beside processors and memory.
type podRest struct {
	processes  map[string][]string    // in its sandbox and containers, by the runtime's ids
	interfaces []model.InterfaceStats // nil: none of its own
	pressure   *statsapi.IOStats
	containers map[string]*statsapi.IOStats // by name
}

// kernelPodRests reads that of the pods that the kernel counts for.
func (c *Collector) kernelPodRests(of []podGroups) func(context.Context) (func(*collection), error) {
	return func(context.Context) (func(*collection), error) {
		rests := make([]podRest, len(of))
		each(len(of), func(r *reader, i int) { rests[i] = c.podRest(r, &of[i]) })
		return func(s *collection) {
			s.rests = make(map[string]*podRest, len(of))
			for i := range of {
				s.rests[string(of[i].pod.UID())] = &rests[i]
			}
			for i := range s.Pods {
				if rest := s.rests[s.Pods[i].PodRef.UID]; rest != nil {
					rest.addTo(&s.Pods[i])
				}
			}
		}, nil
	}
}

func (rest *podRest) addTo(pod *statsapi.PodStats) {
	pod.IO = rest.pressure
	if rest.interfaces != nil {
		pod.Network = networkStats(rest.interfaces, podInterface)
	}
	count := uint64(0)
	for _, pids := range rest.processes {
		count += uint64(len(pids))
	}
	pod.ProcessStats = &statsapi.ProcessStats{ProcessCount: &count}
	for i := range pod.Containers {
		pod.Containers[i].IO = rest.containers[pod.Containers[i].Name]
	}
}

func (c *Collector) podRest(r *reader, of *podGroups) podRest {
	rest := podRest{pressure: ioStats(r, of.whole), processes: map[string][]string{}}
	if of.sandbox != nil {
		own := of.sandbox.processes(r)
		rest.processes[of.sandbox.id] = own
		if len(own) > 0 && !of.pod.Object.Spec.HostNetwork {
			rest.interfaces = c.podInterfaces(r, own[0])
		}
	}
	for i := range of.runs {
		run := &of.runs[i]
		rest.processes[run.id] = run.processes(r)
		if io := ioStats(r, run.group); io != nil {
			if rest.containers == nil {
				rest.containers = map[string]*statsapi.IOStats{}
			}
			rest.containers[run.run.Name] = io
		}
	}
	return rest
}

// podInterfaces are those that a process of a pod sees. The file does not stay open:
// that would hold the pod's network.
func (c *Collector) podInterfaces(r *reader, pid string) []model.InterfaceStats {
	table, err := r.read(c.config.Proc + "/" + pid + "/net/dev")
	if err != nil {
		return nil // it ended meanwhile
	}
	return interfacesOf(string(table))
}

func cpuStats(s *model.ContainerStats, of *group) *statsapi.CPUStats {
	cpu := &statsapi.CPUStats{Time: at(s.Timestamp), UsageCoreNanoSeconds: new(s.Cpu.Usage.Total)}
	if of.version() == 2 {
		cpu.PSI = apiPSI(s.Cpu.PSI)
	}
	return cpu
}

func memoryStats(s *model.ContainerStats, limit uint64, of *group) *statsapi.MemoryStats {
	m := s.Memory
	memory := &statsapi.MemoryStats{
		Time: at(s.Timestamp), UsageBytes: new(m.Usage), WorkingSetBytes: new(m.WorkingSet), RSSBytes: new(m.RSS),
		PageFaults: new(m.ContainerData.Pgfault), MajorPageFaults: new(m.ContainerData.Pgmajfault),
	}
	if limit > 0 {
		memory.AvailableBytes = new(limit - min(limit, m.WorkingSet))
	}
	if of.version() == 2 {
		memory.PSI = apiPSI(m.PSI)
	}
	return memory
}

// ioStats are pressure alone, which version 1 does not count.
func ioStats(r *reader, of *group) *statsapi.IOStats {
	if of.version() != 2 {
		return nil
	}
	return &statsapi.IOStats{Time: at(time.Now()), PSI: apiPSI(of.ioPressure(r))}
}

func swapStats(s *model.ContainerStats) *statsapi.SwapStats {
	return &statsapi.SwapStats{Time: at(s.Timestamp), SwapUsageBytes: new(s.Memory.Swap)}
}

func apiPSI(psi model.PSIStats) *statsapi.PSIStats {
	return &statsapi.PSIStats{Full: statsapi.PSIData(psi.Full), Some: statsapi.PSIData(psi.Some)}
}
