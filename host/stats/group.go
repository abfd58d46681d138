package stats

import (
	"bytes"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// counted holds the counts of a cgroup. Pressure is nil if the kernel does not count it.
type counted struct {
	*model.ContainerStats
	onProcessors, onMemory *statsapi.PSIStats
}

// usage reads the present counts of processors and memory. It returns nil if the cgroup is gone.
func (g *group) usage(r *reader) *counted {
	// Both versions have this file: without it there is no cgroup.
	spent := g.counts(r, "cpuacct", "cpuacct.usage")
	if g.version() == 2 {
		spent = g.counts(r, "cpu", "cpu.stat")
	}
	if len(spent) == 0 {
		return nil
	}
	s := &counted{ContainerStats: &model.ContainerStats{
		Timestamp: time.Now(), Cpu: &model.CpuStats{}, Memory: &model.MemoryStats{}, DiskIo: &model.DiskIoStats{},
	}}
	if g.version() == 2 {
		s.Cpu = secondProcessors(spent)
		g.secondMemory(r, s.Memory)
		s.onProcessors = pressureOf(g.counts(r, "cpu", "cpu.pressure"))
		s.onMemory = pressureOf(g.counts(r, "memory", "memory.pressure"))
		s.Cpu.PSI, s.Memory.PSI = psiOrNone(s.onProcessors), psiOrNone(s.onMemory)
	} else {
		s.Cpu.Usage.Total = number(spent)
		g.firstMemory(r, s.Memory)
	}
	s.Memory.WorkingSet = s.Memory.Usage - min(s.Memory.Usage, s.Memory.TotalInactiveFile)
	return s
}

// workingSet reads the memory that is in use, without the file pages that were not touched for a while. It is zero if the
// cgroup is gone.
func (g *group) workingSet(r *reader) uint64 {
	var m model.MemoryStats
	if g.version() == 2 {
		g.secondMemory(r, &m)
	} else {
		g.firstMemory(r, &m)
	}
	return m.Usage - min(m.Usage, m.TotalInactiveFile)
}

// all adds the other counts to few, and leaves those in few as they are.
func (g *group) all(r *reader, few *model.ContainerStats, allowed model.ContainerSpec) *model.ContainerStats {
	s, cpu, memory := *few, *few.Cpu, *few.Memory
	s.Cpu, s.Memory, s.DiskIo = &cpu, &memory, &model.DiskIoStats{}
	if g.version() == 2 {
		g.restOfSecond(r, &s)
	} else {
		g.restOfFirst(r, &s, allowed)
	}
	s.Processes = &model.ProcessStats{ThreadsCurrent: number(g.more(r, "pids", "pids.current")), ThreadsMax: allowed.Processes.Limit}
	return &s
}

func (g *group) ioPressure(r *reader) *statsapi.PSIStats {
	return pressureOf(g.counts(r, "io", "io.pressure"))
}

// pressureOf parses a pressure file. It returns nil for an empty text: version 1 has no such file, nor has a kernel
// that is configured not to count.
func pressureOf(text []byte) *statsapi.PSIStats {
	if len(text) == 0 {
		return nil
	}
	return new(parsePressure(string(text)))
}

// limitsAge is the age at which limits are read again: they seldom change.
const limitsAge = 30 * time.Second

// limits reads the limits of the cgroup.
func (g *group) limits(r *reader) model.ContainerSpec {
	g.mu.Lock()
	known, at := g.allowed, g.allowedAt
	g.mu.Unlock()
	if time.Since(at) < limitsAge {
		return known
	}
	known = model.ContainerSpec{HasCpu: true, HasMemory: true}
	if g.version() == 2 {
		g.secondLimits(r, &known)
	} else {
		g.firstLimits(r, &known)
	}
	known.Processes.Limit = number(g.text(r, "pids", "pids.max"))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed, g.allowedAt = known, time.Now()
	return known
}

// memoryLimit returns the limit of memory; zero means none.
func (g *group) memoryLimit(r *reader) uint64 {
	name := "memory.limit_in_bytes"
	if g.version() == 2 {
		name = "memory.max"
	}
	if limit := number(g.counts(r, "memory", name)); limit < 1<<62 {
		return limit
	}
	return 0
}

// swapLimit returns the limit of swap; false means that there is none.
func (g *group) swapLimit(r *reader) (limit uint64, bounded bool) {
	if g.version() == 2 {
		text := string(bytes.TrimSpace(g.counts(r, "memory", "memory.swap.max")))
		return number([]byte(text)), text != "" && text != "max"
	}
	memory, both := g.memoryLimit(r), number(g.counts(r, "memory", "memory.memsw.limit_in_bytes"))
	return both - min(both, memory), 0 < both && both < 1<<62
}

// relist is the pause after which version 1 updates the list of processes of an open file:
// the kernel keeps the list for a second after a read.
const relist = time.Second + 50*time.Millisecond

// processes returns the processes in the cgroup itself. All controllers have the same list; this one is the quickest.
func (g *group) processes(r *reader) []string {
	g.mu.Lock()
	old := g.version() == 1 && time.Since(g.listed) < relist
	g.listed = time.Now()
	g.mu.Unlock()
	read := g.more
	if old {
		read = g.text
	}
	return strings.Fields(string(read(r, "cpu", "cgroup.procs")))
}
