package stats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/node/store"
)

// podGroups holds the cgroups of a pod whose figures the kernel has.
type podGroups struct {
	pod     *node.Pod
	whole   *group
	counts  *counted  // of the whole, once they are read
	sandbox *runGroup // nil if there is none, or if it has no cgroup of its own
	runs    []runGroup
}

// runGroup is the cgroup of a container, or of a sandbox.
type runGroup struct {
	*group
	id      string
	run     *node.Container // nil for a sandbox
	created time.Time
	counts  *counted // nil if they were not read
}

// groups finds the cgroups of all pods, and reports whether each running pod has its own.
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

// groupsOf finds the cgroup of a pod and, by the runtime's ids, the cgroups in it.
func (c *Collector) groupsOf(v store.View) (podGroups, bool) {
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

// kernelPods reads the kernel's figures of pods. A pod that goes meanwhile is left out.
func (c *Collector) kernelPods(of []podGroups) (func(*collection), error) {
	stats := make([]*statsapi.PodStats, len(of))
	each(len(of), func(r *reader, i int) { stats[i] = kernelPod(r, &of[i]) })
	return func(s *collection) {
		for i, p := range stats {
			if p != nil {
				s.Pods, s.groups = append(s.Pods, *p), append(s.groups, of[i])
			}
		}
	}, c.unread(of, stats)
}

// unread returns an error that names the pods that are still there but without figures.
func (c *Collector) unread(of []podGroups, stats []*statsapi.PodStats) error {
	if !slices.Contains(stats, nil) {
		return nil
	}
	there := map[types.UID]bool{}
	views, _ := c.config.Views()
	for _, v := range views {
		if v.Slot != nil && v.Got != nil && !v.Gone && ready(v.Got) {
			there[v.Slot.Pod.UID()] = true
		}
	}
	var errs []error
	for i, p := range stats {
		if pod := of[i].pod; p == nil && there[pod.UID()] {
			errs = append(errs, fmt.Errorf("pod %s: cgroup %s cannot be read", pod.Key(), of[i].whole.path))
		}
	}
	return errors.Join(errs...)
}

func kernelPod(r *reader, of *podGroups) *statsapi.PodStats {
	of.counts = of.whole.usage(r)
	if of.counts == nil {
		return nil
	}
	o := of.pod.Object
	pod := &statsapi.PodStats{
		PodRef:    statsapi.PodReference{Name: o.Name, Namespace: o.Namespace, UID: string(o.UID)},
		StartTime: at(of.pod.Begun()), Containers: []statsapi.ContainerStats{},
		CPU: cpuStats(of.counts), Memory: memoryStats(of.counts, of.whole.memoryLimit(r)), Swap: swapStats(r, of.counts, of.whole),
	}
	for i := range of.runs {
		run := &of.runs[i]
		run.counts = run.usage(r)
		if run.counts == nil {
			continue
		}
		pod.Containers = append(pod.Containers, statsapi.ContainerStats{
			Name: run.run.Name, StartTime: at(run.run.StartedAt),
			CPU: cpuStats(run.counts), Memory: memoryStats(run.counts, run.memoryLimit(r)), Swap: swapStats(r, run.counts, run.group),
		})
	}
	return pod
}

// systemContainers reads the figures of the node's own programs, and of all pods together.
func (c *Collector) systemContainers() []statsapi.ContainerStats {
	if c.tree.in.System == nil {
		return nil
	}
	var found []statsapi.ContainerStats
	r, paths := newReader(), c.tree.in.System()
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		g := c.tree.group(paths[name])
		if counts := g.usage(r); counts != nil {
			found = append(found, statsapi.ContainerStats{
				Name: name, CPU: cpuStats(counts), Memory: memoryStats(counts, g.memoryLimit(r)), Swap: swapStats(r, counts, g),
			})
		}
	}
	return found
}

// podRest holds the part of a pod's summary beyond processors and memory.
type podRest struct {
	processes  map[string][]string    // in its sandbox and containers, by the runtime's ids
	interfaces []model.InterfaceStats // nil if it has none of its own
	pressure   *statsapi.IOStats
	containers map[string]*statsapi.IOStats // by name
}

// kernelPodRests reads the podRest of each pod whose figures the kernel has.
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

// podInterfaces reads the interfaces that a process of a pod sees. The file does not stay open: that would keep the
// pod's network in place.
func (c *Collector) podInterfaces(r *reader, pid string) []model.InterfaceStats {
	table, err := r.read(c.config.Proc + "/" + pid + "/net/dev")
	if err != nil {
		return nil // it ended meanwhile
	}
	return interfacesOf(string(table))
}

func cpuStats(s *counted) *statsapi.CPUStats {
	return &statsapi.CPUStats{Time: at(s.Timestamp), UsageCoreNanoSeconds: new(s.Cpu.Usage.Total), PSI: s.onProcessors}
}

func memoryStats(s *counted, limit uint64) *statsapi.MemoryStats {
	m := s.Memory
	memory := &statsapi.MemoryStats{
		Time: at(s.Timestamp), UsageBytes: new(m.Usage), WorkingSetBytes: new(m.WorkingSet), RSSBytes: new(m.RSS),
		PageFaults: new(m.ContainerData.Pgfault), MajorPageFaults: new(m.ContainerData.Pgmajfault), PSI: s.onMemory,
	}
	if limit > 0 {
		memory.AvailableBytes = new(limit - min(limit, m.WorkingSet))
	}
	return memory
}

// ioStats reads the disk figures of a cgroup, which are only its pressure.
func ioStats(r *reader, of *group) *statsapi.IOStats {
	psi := of.ioPressure(r)
	if psi == nil {
		return nil
	}
	return &statsapi.IOStats{Time: at(time.Now()), PSI: psi}
}

func swapStats(r *reader, s *counted, of *group) *statsapi.SwapStats {
	swap := &statsapi.SwapStats{Time: at(s.Timestamp), SwapUsageBytes: new(s.Memory.Swap)}
	if limit, bounded := of.swapLimit(r); bounded {
		swap.SwapAvailableBytes = new(limit - min(limit, s.Memory.Swap))
	}
	return swap
}
