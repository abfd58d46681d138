package stats

import "github.com/google/cadvisor/lib/model"

func (g *group) firstMemory(r *reader, m *model.MemoryStats) {
	m.Usage = number(g.counts(r, "memory", "memory.usage_in_bytes"))
	for name, n := range numbers(g.counts(r, "memory", "memory.stat")) {
		switch string(name) {
		case "total_cache":
			m.Cache = n
		case "total_rss":
			m.RSS = n
		case "total_swap":
			m.Swap = n
		case "total_mapped_file":
			m.MappedFile = n
		case "total_active_file":
			m.TotalActiveFile = n
		case "total_inactive_file":
			m.TotalInactiveFile = n
		case "total_dirty":
			m.FileDirty = n
		case "total_writeback":
			m.FileWriteback = n
		case "pgfault":
			m.ContainerData.Pgfault = n
		case "pgmajfault":
			m.ContainerData.Pgmajfault = n
		case "total_pgfault":
			m.HierarchicalData.Pgfault = n
		case "total_pgmajfault":
			m.HierarchicalData.Pgmajfault = n
		}
	}
}

// restOfFirst adds the other counters of version 1. Without a limit it does not read how often the limit was met.
func (g *group) restOfFirst(r *reader, s *model.ContainerStats, allowed model.ContainerSpec) {
	for name, n := range numbers(g.more(r, "cpuacct", "cpuacct.stat")) {
		switch string(name) {
		case "user":
			s.Cpu.Usage.User = n * uint64(tick)
		case "system":
			s.Cpu.Usage.System = n * uint64(tick)
		}
	}
	if allowed.Cpu.Quota != 0 {
		g.firstThrottled(r, &s.Cpu.CFS)
	}
	s.Memory.MaxUsage = number(g.more(r, "memory", "memory.max_usage_in_bytes"))
	s.Memory.Failcnt = number(g.more(r, "memory", "memory.failcnt"))
	s.Memory.KernelUsage = number(g.more(r, "memory", "memory.kmem.usage_in_bytes"))
	for name, n := range numbers(g.more(r, "memory", "memory.oom_control")) {
		if string(name) == "oom_kill" {
			s.OOMEvents = n
		}
	}
	s.DiskIo.IoServiceBytes, s.DiskIo.IoServiced = g.firstDisks(r)
}

func (g *group) firstThrottled(r *reader, held *model.CpuCFS) {
	for name, n := range numbers(g.more(r, "cpu", "cpu.stat")) {
		switch string(name) {
		case "nr_periods":
			held.Periods = n
		case "nr_throttled":
			held.ThrottledPeriods = n
		case "throttled_time":
			held.ThrottledTime = n
		case "nr_bursts":
			held.BurstsPeriods = n
		case "burst_time":
			held.BurstTime = n
		}
	}
}

// moved holds the last disk counters of a cgroup.
type moved struct {
	text          string // of the counts
	sizes, counts []model.PerDiskStats
}

// firstDisks reads sizes only if the count of operations has changed since the last
// time. Its result is shared; callers must not change it.
func (g *group) firstDisks(r *reader) (sizes, counts []model.PerDiskStats) {
	text := g.more(r, "blkio", "blkio.throttle.io_serviced_recursive")
	g.mu.Lock()
	last := g.moved
	g.mu.Unlock()
	if string(text) == last.text {
		return last.sizes, last.counts
	}
	now := moved{text: string(text), counts: r.throttled(text)}
	now.sizes = r.throttled(g.text(r, "blkio", "blkio.throttle.io_service_bytes_recursive"))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moved = now
	return now.sizes, now.counts
}

func (g *group) firstLimits(r *reader, to *model.ContainerSpec) {
	to.Cpu = model.CpuSpec{
		Limit: number(g.text(r, "cpu", "cpu.shares")), Period: number(g.text(r, "cpu", "cpu.cfs_period_us")),
		Quota: number(g.text(r, "cpu", "cpu.cfs_quota_us")),
	}
	to.Memory = model.MemorySpec{
		Limit: number(g.counts(r, "memory", "memory.limit_in_bytes")), SwapLimit: number(g.text(r, "memory", "memory.memsw.limit_in_bytes")),
		Reservation: number(g.text(r, "memory", "memory.soft_limit_in_bytes")),
	}
}
