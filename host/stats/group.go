package stats

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	corev1 "k8s.io/api/core/v1"
)

// Cgroups is where the kernel counts what pods use.
type Cgroups struct {
	Version int                      // 1 or 2
	Dirs    map[string]string        // of each controller
	Pod     func(*corev1.Pod) string // a pod's cgroup, below these; empty: it has none
}

// group is one cgroup.
type group struct {
	in   Cgroups
	path string
}

func (g group) file(controller, name string) string {
	return filepath.Join(g.in.Dirs[controller], g.path, name)
}

// there says whether the cgroup has not been removed.
func (g group) there() bool {
	_, err := os.Stat(g.file("memory", ""))
	return err == nil
}

// text is what a file of the cgroup says. Kernels differ in which files they have, so
// one that is not there says nothing.
func (g group) text(controller, name string) string {
	if g.in.Dirs[controller] == "" {
		return ""
	}
	text, err := os.ReadFile(g.file(controller, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number is zero where there is none, as for "max".
func (g group) number(controller, name string) uint64 {
	n, err := strconv.ParseUint(g.text(controller, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// table is a file of names and numbers.
func (g group) table(controller, name string) map[string]uint64 {
	table := map[string]uint64{}
	for line := range strings.Lines(g.text(controller, name)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			table[key] = n
		}
	}
	return table
}

// stats are the present counts that a summary has; false: the cgroup is gone. Each file
// that is read costs up to 20 us, so that there are no more of them than needed.
func (g group) stats() (*model.ContainerStats, bool) {
	s := &model.ContainerStats{Timestamp: time.Now(), Cpu: &model.CpuStats{}, Memory: &model.MemoryStats{}, DiskIo: &model.DiskIoStats{}}
	if g.in.Version == 2 {
		g.second(s)
	} else {
		g.first(s)
	}
	s.Memory.WorkingSet = s.Memory.Usage - min(s.Memory.Usage, s.Memory.TotalInactiveFile)
	return s, g.there()
}

// all adds the other counts, and leaves those that are given as they are.
func (g group) all(few *model.ContainerStats) *model.ContainerStats {
	s, cpu, memory, io := *few, *few.Cpu, *few.Memory, *few.DiskIo
	s.Cpu, s.Memory, s.DiskIo = &cpu, &memory, &io
	if g.in.Version == 2 {
		g.restOfSecond(&s)
	} else {
		g.restOfFirst(&s)
	}
	s.Processes = &model.ProcessStats{ThreadsCurrent: g.number("pids", "pids.current"), ThreadsMax: g.number("pids", "pids.max")}
	return &s
}

// first counts in version 1.
func (g group) first(s *model.ContainerStats) {
	s.Cpu.Usage.Total = g.number("cpuacct", "cpuacct.usage")
	has := g.table("memory", "memory.stat")
	*s.Memory = model.MemoryStats{
		Usage: g.number("memory", "memory.usage_in_bytes"),
		Cache: has["total_cache"], RSS: has["total_rss"], Swap: has["total_swap"], MappedFile: has["total_mapped_file"],
		TotalActiveFile: has["total_active_file"], TotalInactiveFile: has["total_inactive_file"],
		FileDirty: has["total_dirty"], FileWriteback: has["total_writeback"],
		ContainerData:    model.MemoryStatsMemoryData{Pgfault: has["pgfault"], Pgmajfault: has["pgmajfault"]},
		HierarchicalData: model.MemoryStatsMemoryData{Pgfault: has["total_pgfault"], Pgmajfault: has["total_pgmajfault"]},
	}
}

func (g group) restOfFirst(s *model.ContainerStats) {
	ticks, held := g.table("cpuacct", "cpuacct.stat"), g.table("cpu", "cpu.stat")
	s.Cpu.Usage.User, s.Cpu.Usage.System = ticks["user"]*uint64(tick), ticks["system"]*uint64(tick)
	s.Cpu.CFS = model.CpuCFS{
		Periods: held["nr_periods"], ThrottledPeriods: held["nr_throttled"], ThrottledTime: held["throttled_time"],
		BurstsPeriods: held["nr_bursts"], BurstTime: held["burst_time"],
	}
	s.Memory.MaxUsage, s.Memory.Failcnt = g.number("memory", "memory.max_usage_in_bytes"), g.number("memory", "memory.failcnt")
	s.Memory.KernelUsage = g.number("memory", "memory.kmem.usage_in_bytes")
	s.OOMEvents = g.table("memory", "memory.oom_control")["oom_kill"]
	s.DiskIo.IoServiceBytes = throttled(g.text("blkio", "blkio.throttle.io_service_bytes_recursive"))
	s.DiskIo.IoServiced = throttled(g.text("blkio", "blkio.throttle.io_serviced_recursive"))
}

// second counts in version 2.
func (g group) second(s *model.ContainerStats) {
	const micro = uint64(time.Microsecond)
	spent, has := g.table("cpu", "cpu.stat"), g.table("memory", "memory.stat")
	s.Cpu.Usage = model.CpuUsage{Total: spent["usage_usec"] * micro, User: spent["user_usec"] * micro, System: spent["system_usec"] * micro}
	s.Cpu.CFS = model.CpuCFS{
		Periods: spent["nr_periods"], ThrottledPeriods: spent["nr_throttled"], ThrottledTime: spent["throttled_usec"] * micro,
		BurstsPeriods: spent["nr_bursts"], BurstTime: spent["burst_usec"] * micro,
	}
	faults := model.MemoryStatsMemoryData{Pgfault: has["pgfault"], Pgmajfault: has["pgmajfault"]}
	*s.Memory = model.MemoryStats{
		Usage: g.number("memory", "memory.current"), KernelUsage: has["kernel"], Swap: g.number("memory", "memory.swap.current"),
		Cache: has["file"], RSS: has["anon"], MappedFile: has["file_mapped"],
		TotalActiveFile: has["active_file"], TotalInactiveFile: has["inactive_file"],
		FileDirty: has["file_dirty"], FileWriteback: has["file_writeback"], Pgscan: has["pgscan"], Pgsteal: has["pgsteal"],
		WorkingsetRefaultFile: has["workingset_refault_file"], WorkingsetRefaultAnon: has["workingset_refault_anon"],
		ContainerData: faults, HierarchicalData: faults,
	}
	s.Cpu.PSI = modelPSI(g.text("cpu", "cpu.pressure"))
	s.Memory.PSI = modelPSI(g.text("memory", "memory.pressure"))
	s.DiskIo.PSI = modelPSI(g.text("io", "io.pressure"))
}

func (g group) restOfSecond(s *model.ContainerStats) {
	events := g.table("memory", "memory.events")
	s.Memory.MaxUsage, s.Memory.Failcnt = g.number("memory", "memory.peak"), events["max"]
	s.Memory.Events = model.MemoryEvents{High: events["high"], Max: events["max"]}
	s.OOMEvents = events["oom_kill"]
	s.DiskIo.IoServiceBytes, s.DiskIo.IoServiced = disks(g.text("io", "io.stat"))
}

func modelPSI(text string) model.PSIStats {
	psi := parsePressure(text)
	return model.PSIStats{Full: model.PSIData(psi.Full), Some: model.PSIData(psi.Some)}
}

// spec is what the cgroup is allowed.
func (g group) spec() model.ContainerSpec {
	s := model.ContainerSpec{HasCpu: true, HasMemory: true}
	if g.in.Version == 2 {
		quota, period, _ := strings.Cut(g.text("cpu", "cpu.max"), " ")
		s.Cpu.Quota, _ = strconv.ParseUint(quota, 10, 64) // zero for "max": there is none
		s.Cpu.Period, _ = strconv.ParseUint(period, 10, 64)
		if weight := g.number("cpu", "cpu.weight"); weight > 0 {
			s.Cpu.Limit = 2 + (weight-1)*262142/9999 // shares, as version 1 has them
		}
		s.Memory = model.MemorySpec{
			Limit: g.number("memory", "memory.max"), SwapLimit: g.number("memory", "memory.swap.max"), Reservation: g.number("memory", "memory.high"),
		}
		return s
	}
	s.Cpu = model.CpuSpec{Limit: g.number("cpu", "cpu.shares"), Period: g.number("cpu", "cpu.cfs_period_us"), Quota: g.number("cpu", "cpu.cfs_quota_us")}
	s.Memory = model.MemorySpec{
		Limit: g.number("memory", "memory.limit_in_bytes"), SwapLimit: g.number("memory", "memory.memsw.limit_in_bytes"),
		Reservation: g.number("memory", "memory.soft_limit_in_bytes"),
	}
	return s
}

// memoryLimit is zero where there is none.
func (g group) memoryLimit() uint64 {
	name := "memory.limit_in_bytes"
	if g.in.Version == 2 {
		name = "memory.max"
	}
	if limit := g.number("memory", name); limit < 1<<62 {
		return limit
	}
	return 0
}

// processes are those in the cgroup itself. Every controller says the same, this one
// quicker than others.
func (g group) processes() []string { return strings.Fields(g.text("cpu", "cgroup.procs")) }

// throttled reads what version 1 counts of disks: lines such as "8:0 Read 512".
func throttled(text string) []model.PerDiskStats {
	var found []model.PerDiskStats
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		count, err := strconv.ParseUint(fields[2], 10, 64)
		if err != nil {
			continue
		}
		if last := len(found) - 1; last < 0 || diskNumber(found[last]) != fields[0] {
			found = append(found, disk(fields[0]))
		}
		found[len(found)-1].Stats[fields[1]] = count
	}
	return found
}

// disks reads what version 2 counts: lines such as "8:0 rbytes=512 wbytes=0 rios=1".
func disks(text string) (bytes, count []model.PerDiskStats) {
	names := map[string]string{"rbytes": "Read", "wbytes": "Write", "dbytes": "Discard", "rios": "Read", "wios": "Write", "dios": "Discard"}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		b, c := disk(fields[0]), disk(fields[0])
		for _, field := range fields[1:] {
			name, value, _ := strings.Cut(field, "=")
			n, err := strconv.ParseUint(value, 10, 64)
			switch {
			case err != nil || names[name] == "":
			case strings.HasSuffix(name, "bytes"):
				b.Stats[names[name]] = n
			default:
				c.Stats[names[name]] = n
			}
		}
		bytes, count = append(bytes, b), append(count, c)
	}
	return bytes, count
}

func diskNumber(d model.PerDiskStats) string {
	return strconv.FormatUint(d.Major, 10) + ":" + strconv.FormatUint(d.Minor, 10)
}

// disk is one without counts, by its number.
func disk(number string) model.PerDiskStats {
	d := model.PerDiskStats{Stats: map[string]uint64{}}
	major, minor, _ := strings.Cut(number, ":")
	d.Major, _ = strconv.ParseUint(major, 10, 64)
	d.Minor, _ = strconv.ParseUint(minor, 10, 64)
	d.Device = number
	if link, err := os.Readlink("/sys/dev/block/" + number); err == nil {
		d.Device = "/dev/" + filepath.Base(link)
	}
	return d
}
