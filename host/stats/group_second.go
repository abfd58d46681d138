package stats

import (
	"bytes"
	"time"

	"github.com/google/cadvisor/lib/model"
)

// secondProcessors reads cpu.stat.
func secondProcessors(text []byte) *model.CpuStats {
	const micro = uint64(time.Microsecond)
	cpu := &model.CpuStats{}
	for name, n := range numbers(text) {
		switch string(name) {
		case "usage_usec":
			cpu.Usage.Total = n * micro
		case "user_usec":
			cpu.Usage.User = n * micro
		case "system_usec":
			cpu.Usage.System = n * micro
		case "nr_periods":
			cpu.CFS.Periods = n
		case "nr_throttled":
			cpu.CFS.ThrottledPeriods = n
		case "throttled_usec":
			cpu.CFS.ThrottledTime = n * micro
		case "nr_bursts":
			cpu.CFS.BurstsPeriods = n
		case "burst_usec":
			cpu.CFS.BurstTime = n * micro
		}
	}
	return cpu
}

func (g *group) secondMemory(r *reader, m *model.MemoryStats) {
	m.Usage, m.Swap = number(g.counts(r, "memory", "memory.current")), number(g.counts(r, "memory", "memory.swap.current"))
	for name, n := range numbers(g.counts(r, "memory", "memory.stat")) {
		switch string(name) {
		case "kernel":
			m.KernelUsage = n
		case "file":
			m.Cache = n
		case "anon":
			m.RSS = n
		case "file_mapped":
			m.MappedFile = n
		case "active_file":
			m.TotalActiveFile = n
		case "inactive_file":
			m.TotalInactiveFile = n
		case "file_dirty":
			m.FileDirty = n
		case "file_writeback":
			m.FileWriteback = n
		case "pgscan":
			m.Pgscan = n
		case "pgsteal":
			m.Pgsteal = n
		case "workingset_refault_file":
			m.WorkingsetRefaultFile = n
		case "workingset_refault_anon":
			m.WorkingsetRefaultAnon = n
		case "pgfault":
			m.ContainerData.Pgfault, m.HierarchicalData.Pgfault = n, n
		case "pgmajfault":
			m.ContainerData.Pgmajfault, m.HierarchicalData.Pgmajfault = n, n
		}
	}
}

func (g *group) restOfSecond(r *reader, s *model.ContainerStats) {
	s.Memory.MaxUsage = number(g.more(r, "memory", "memory.peak"))
	for name, n := range numbers(g.more(r, "memory", "memory.events")) {
		switch string(name) {
		case "high":
			s.Memory.Events.High = n
		case "max":
			s.Memory.Events.Max, s.Memory.Failcnt = n, n
		case "oom_kill":
			s.OOMEvents = n
		}
	}
	s.DiskIo.IoServiceBytes, s.DiskIo.IoServiced = r.disks(g.more(r, "io", "io.stat"))
	s.DiskIo.PSI = psiOrNone(g.ioPressure(r))
}

func (g *group) secondLimits(r *reader, to *model.ContainerSpec) {
	quota, period, _ := bytes.Cut(g.text(r, "cpu", "cpu.max"), []byte(" "))
	to.Cpu.Quota, to.Cpu.Period = number(quota), number(period) // zero for "max": there is none
	if weight := number(g.text(r, "cpu", "cpu.weight")); weight > 0 {
		to.Cpu.Limit = 2 + (weight-1)*262142/9999 // shares, as version 1 has them
	}
	to.Memory = model.MemorySpec{
		Limit: number(g.counts(r, "memory", "memory.max")), SwapLimit: number(g.text(r, "memory", "memory.swap.max")),
		Reservation: number(g.text(r, "memory", "memory.high")),
	}
}
