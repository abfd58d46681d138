package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/cadvisor/lib/model"
)

// figures are the families of cgroups that upstream's kubelet has, as far as the kernel or the
// runtime counts them here.
func figures() []figure {
	return slices.Concat(specFigures(), cpuFigures(), memoryFigures(), diskFigures(), networkFigures(), processFigures(),
		pressureFigures())
}

func seconds(nanos uint64) float64 { return float64(nanos) / float64(time.Second) }

func specFigures() []figure {
	about := func(name, help string, read func(model.ContainerSpec) (float64, bool)) figure {
		return figure{name: name, help: help, kind: gauge, untimed: true,
			read: func(c *model.ContainerInfo, _ *model.ContainerStats, e emit) {
				if value, ok := read(c.Spec); ok {
					e(value)
				}
			}}
	}
	bytes := func(limit uint64) float64 {
		if limit > 1<<62 { // the kernel's value for no limit
			return 0
		}
		return float64(limit)
	}
	return []figure{
		about("container_creation_time_seconds", "Container creation time since unix epoch in seconds.",
			func(s model.ContainerSpec) (float64, bool) { return float64(s.CreationTime.Unix()), true }),
		about("container_start_time_seconds", "Start time of the container since unix epoch in seconds.",
			func(s model.ContainerSpec) (float64, bool) {
				if s.StartTime.IsZero() {
					return float64(s.CreationTime.Unix()), true
				}
				return float64(s.StartTime.Unix()), true
			}),
		about("container_spec_cpu_period", "CPU period of the container.",
			func(s model.ContainerSpec) (float64, bool) { return float64(s.Cpu.Period), s.HasCpu }),
		about("container_spec_cpu_quota", "CPU quota of the container.",
			func(s model.ContainerSpec) (float64, bool) { return float64(s.Cpu.Quota), s.HasCpu && s.Cpu.Quota != 0 }),
		about("container_spec_cpu_shares", "CPU share of the container.",
			func(s model.ContainerSpec) (float64, bool) { return float64(s.Cpu.Limit), s.HasCpu }),
		about("container_spec_memory_limit_bytes", "Memory limit for the container.",
			func(s model.ContainerSpec) (float64, bool) { return bytes(s.Memory.Limit), s.HasMemory }),
		about("container_spec_memory_reservation_limit_bytes", "Memory reservation limit for the container.",
			func(s model.ContainerSpec) (float64, bool) { return bytes(s.Memory.Reservation), s.HasMemory }),
		about("container_spec_memory_swap_limit_bytes", "Memory swap limit for the container.",
			func(s model.ContainerSpec) (float64, bool) { return bytes(s.Memory.SwapLimit), s.HasMemory }),
	}
}

func cpuFigures() []figure {
	of := func(name, help string, read func(*model.CpuStats) float64) figure {
		return figure{name: name, help: help, kind: counter,
			read: func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Cpu != nil && (c.Spec.HasCpu || s.Cpu.Usage.User+s.Cpu.Usage.System > 0) {
					e(read(s.Cpu))
				}
			}}
	}
	bounded := func(name, help string, read func(model.CpuCFS) float64) figure {
		return figure{name: name, help: help, kind: counter,
			read: func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Cpu != nil && c.Spec.Cpu.Quota != 0 {
					e(read(s.Cpu.CFS))
				}
			}}
	}
	return []figure{
		of("container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds.",
			func(c *model.CpuStats) float64 { return seconds(c.Usage.User) }),
		of("container_cpu_system_seconds_total", "Cumulative system cpu time consumed in seconds.",
			func(c *model.CpuStats) float64 { return seconds(c.Usage.System) }),
		{name: "container_cpu_usage_seconds_total", help: "Cumulative cpu time consumed in seconds.", kind: counter,
			labels: []string{"cpu"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Cpu != nil && s.Cpu.Usage.Total > 0 {
					e(seconds(s.Cpu.Usage.Total), "total")
				}
			}},
		bounded("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.",
			func(c model.CpuCFS) float64 { return float64(c.Periods) }),
		bounded("container_cpu_cfs_throttled_periods_total", "Number of throttled period intervals.",
			func(c model.CpuCFS) float64 { return float64(c.ThrottledPeriods) }),
		bounded("container_cpu_cfs_throttled_seconds_total", "Total time duration the container has been throttled.",
			func(c model.CpuCFS) float64 { return seconds(c.ThrottledTime) }),
		bounded("container_cpu_cfs_burst_periods_total", "Number of periods when burst occurs.",
			func(c model.CpuCFS) float64 { return float64(c.BurstsPeriods) }),
		bounded("container_cpu_cfs_burst_seconds_total", "Total time duration the container has been bursted.",
			func(c model.CpuCFS) float64 { return seconds(c.BurstTime) }),
		{name: "container_last_seen", help: "Last time a container was seen by the exporter", kind: gauge,
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) { e(float64(s.Timestamp.Unix())) }},
	}
}

func memoryFigures() []figure {
	figures := []figure{
		{name: "container_memory_swap", help: "Container swap usage in bytes.", kind: gauge,
			read: func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Memory != nil && (c.Spec.HasMemory || c.Name == "/") { // no runtime reports it
					e(float64(s.Memory.Swap))
				}
			}},
		{name: "container_memory_failures_total", help: "Cumulative count of memory allocation failures.", kind: counter,
			labels: []string{"failure_type", "scope"},
			read: ofCgroups(func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Memory != nil {
					own, all := s.Memory.ContainerData, s.Memory.HierarchicalData
					e(float64(own.Pgfault), "pgfault", "container")
					e(float64(own.Pgmajfault), "pgmajfault", "container")
					e(float64(all.Pgfault), "pgfault", "hierarchy")
					e(float64(all.Pgmajfault), "pgmajfault", "hierarchy")
				}
			})},
		{name: "container_oom_events_total", help: "Count of out of memory events observed for the container", kind: counter,
			read: ofCgroups(func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) { e(float64(s.OOMEvents)) })},
	}
	for _, f := range []struct {
		ofCgroups  bool
		kind       kind
		name, help string
		read       func(*model.MemoryStats) uint64
	}{
		{true, gauge, "container_memory_cache", "Number of bytes of page cache memory.",
			func(m *model.MemoryStats) uint64 { return m.Cache }},
		{false, gauge, "container_memory_rss", "Size of RSS in bytes.", func(m *model.MemoryStats) uint64 { return m.RSS }},
		{true, gauge, "container_memory_kernel_usage", "Size of kernel memory allocated in bytes.",
			func(m *model.MemoryStats) uint64 { return m.KernelUsage }},
		{true, gauge, "container_memory_mapped_file", "Size of memory mapped files in bytes.",
			func(m *model.MemoryStats) uint64 { return m.MappedFile }},
		{true, counter, "container_memory_failcnt", "Number of memory usage hits limits",
			func(m *model.MemoryStats) uint64 { return m.Failcnt }},
		{false, gauge, "container_memory_usage_bytes",
			"Current memory usage in bytes, including all memory regardless of when it was accessed",
			func(m *model.MemoryStats) uint64 { return m.Usage }},
		{true, gauge, "container_memory_max_usage_bytes", "Maximum memory usage recorded in bytes",
			func(m *model.MemoryStats) uint64 { return m.MaxUsage }},
		{false, gauge, "container_memory_working_set_bytes", "Current working set in bytes.",
			func(m *model.MemoryStats) uint64 { return m.WorkingSet }},
		{true, gauge, "container_memory_total_active_file_bytes", "Current total active file in bytes.",
			func(m *model.MemoryStats) uint64 { return m.TotalActiveFile }},
		{true, gauge, "container_memory_total_inactive_file_bytes", "Current total inactive file in bytes.",
			func(m *model.MemoryStats) uint64 { return m.TotalInactiveFile }},
		{true, counter, "container_memory_events_high_total",
			"Cumulative count of memory.high throttle events for the container",
			func(m *model.MemoryStats) uint64 { return m.Events.High }},
		{true, counter, "container_memory_events_max_total",
			"Cumulative count of memory.max limit hit events for the container",
			func(m *model.MemoryStats) uint64 { return m.Events.Max }},
		{true, gauge, "container_memory_file_dirty_bytes",
			"Number of bytes of file cache that has been modified but not yet written back to disk.",
			func(m *model.MemoryStats) uint64 { return m.FileDirty }},
		{true, gauge, "container_memory_file_writeback_bytes",
			"Number of bytes of file cache that is currently being written back to disk.",
			func(m *model.MemoryStats) uint64 { return m.FileWriteback }},
		{true, counter, "container_memory_pgscan_total", "Cumulative number of pages scanned by the page reclaim algorithm.",
			func(m *model.MemoryStats) uint64 { return m.Pgscan }},
		{true, counter, "container_memory_pgsteal_total",
			"Cumulative number of pages reclaimed by the page reclaim algorithm.",
			func(m *model.MemoryStats) uint64 { return m.Pgsteal }},
		{true, counter, "container_memory_workingset_refault_file_total",
			"Cumulative number of refaults of previously evicted file pages.",
			func(m *model.MemoryStats) uint64 { return m.WorkingsetRefaultFile }},
		{true, counter, "container_memory_workingset_refault_anon_total",
			"Cumulative number of refaults of previously evicted anonymous pages.",
			func(m *model.MemoryStats) uint64 { return m.WorkingsetRefaultAnon }},
	} {
		read := func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Memory != nil {
				e(float64(f.read(s.Memory)))
			}
		}
		if f.ofCgroups {
			read = ofCgroups(read)
		}
		figures = append(figures, figure{name: f.name, help: f.help, kind: f.kind, read: read})
	}
	return figures
}

// ofCgroups leaves out entries without a spec: the node, and pods whose figures come from the
// runtime. Most of their figures are not known and would read as zero.
func ofCgroups(
	read func(*model.ContainerInfo, *model.ContainerStats, emit),
) func(*model.ContainerInfo, *model.ContainerStats, emit) {
	return func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
		if c.Spec.HasMemory {
			read(c, s, e)
		}
	}
}

func diskFigures() []figure {
	figures := []figure{
		{name: "container_blkio_device_usage_total", help: "Blkio Device bytes usage", kind: counter,
			labels: []string{"device", "major", "minor", "operation"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.DiskIo == nil {
					return
				}
				for _, disk := range s.DiskIo.IoServiceBytes {
					major, minor := strconv.FormatUint(disk.Major, 10), strconv.FormatUint(disk.Minor, 10)
					for operation, value := range disk.Stats {
						e(float64(value), disk.Device, major, minor, operation)
					}
				}
			}},
	}
	for _, f := range []struct {
		name, help string
		read       func(*model.FsStats) uint64
	}{
		{"container_fs_inodes_free", "Number of available Inodes", func(f *model.FsStats) uint64 { return f.InodesFree }},
		{"container_fs_inodes_total", "Number of Inodes", func(f *model.FsStats) uint64 { return f.Inodes }},
		{"container_fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem.",
			func(f *model.FsStats) uint64 { return f.Limit }},
		{"container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.",
			func(f *model.FsStats) uint64 { return f.Usage }},
	} {
		figures = append(figures, figure{name: f.name, help: f.help, kind: gauge, labels: []string{"device"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				for i := range s.Filesystem {
					e(float64(f.read(&s.Filesystem[i])), s.Filesystem[i].Device)
				}
			}})
	}
	bytes := func(d *model.DiskIoStats) []model.PerDiskStats { return d.IoServiceBytes }
	count := func(d *model.DiskIoStats) []model.PerDiskStats { return d.IoServiced }
	for _, f := range []struct {
		name, help, operation string
		disks                 func(*model.DiskIoStats) []model.PerDiskStats
	}{
		{"container_fs_reads_bytes_total", "Cumulative count of bytes read", "Read", bytes},
		{"container_fs_reads_total", "Cumulative count of reads completed", "Read", count},
		{"container_fs_writes_bytes_total", "Cumulative count of bytes written", "Write", bytes},
		{"container_fs_writes_total", "Cumulative count of writes completed", "Write", count},
	} {
		figures = append(figures, figure{name: f.name, help: f.help, kind: counter, labels: []string{"device"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.DiskIo != nil {
					for _, disk := range f.disks(s.DiskIo) {
						e(float64(disk.Stats[f.operation]), disk.Device)
					}
				}
			}})
	}
	return figures
}

func networkFigures() (figures []figure) {
	for _, f := range []struct {
		name, help string
		read       func(*model.InterfaceStats) uint64
	}{
		{"container_network_receive_bytes_total", "Cumulative count of bytes received",
			func(i *model.InterfaceStats) uint64 { return i.RxBytes }},
		{"container_network_receive_errors_total", "Cumulative count of errors encountered while receiving",
			func(i *model.InterfaceStats) uint64 { return i.RxErrors }},
		{"container_network_receive_packets_total", "Cumulative count of packets received",
			func(i *model.InterfaceStats) uint64 { return i.RxPackets }},
		{"container_network_receive_packets_dropped_total", "Cumulative count of packets dropped while receiving",
			func(i *model.InterfaceStats) uint64 { return i.RxDropped }},
		{"container_network_transmit_bytes_total", "Cumulative count of bytes transmitted",
			func(i *model.InterfaceStats) uint64 { return i.TxBytes }},
		{"container_network_transmit_errors_total", "Cumulative count of errors encountered while transmitting",
			func(i *model.InterfaceStats) uint64 { return i.TxErrors }},
		{"container_network_transmit_packets_total", "Cumulative count of packets transmitted",
			func(i *model.InterfaceStats) uint64 { return i.TxPackets }},
		{"container_network_transmit_packets_dropped_total", "Cumulative count of packets dropped while transmitting",
			func(i *model.InterfaceStats) uint64 { return i.TxDropped }},
	} {
		read := func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Network != nil {
				for i := range s.Network.Interfaces {
					e(float64(f.read(&s.Network.Interfaces[i])), s.Network.Interfaces[i].Name)
				}
			}
		}
		figures = append(figures,
			figure{name: f.name, help: f.help, kind: counter, labels: []string{"interface"}, read: read})
	}
	return figures
}

func processFigures() []figure {
	figures := []figure{
		{name: "container_ulimits_soft",
			help: "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice", kind: gauge,
			labels: []string{"ulimit"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Processes != nil {
					for _, limit := range s.Processes.Ulimits {
						e(float64(limit.SoftLimit), limit.Name)
					}
				}
			}},
	}
	for _, f := range []struct {
		name, help string
		read       func(*model.ProcessStats) uint64
	}{
		{"container_processes", "Number of processes running inside the container.",
			func(p *model.ProcessStats) uint64 { return p.ProcessCount }},
		{"container_file_descriptors", "Number of open file descriptors for the container.",
			func(p *model.ProcessStats) uint64 { return p.FdCount }},
		{"container_sockets", "Number of open sockets for the container.",
			func(p *model.ProcessStats) uint64 { return p.SocketCount }},
		{"container_threads", "Number of threads running inside the container",
			func(p *model.ProcessStats) uint64 { return p.ThreadsCurrent }},
		{"container_threads_max", "Maximum number of threads allowed inside the container, infinity if value is zero",
			func(p *model.ProcessStats) uint64 { return p.ThreadsMax }},
	} {
		figures = append(figures, figure{name: f.name, help: f.help, kind: gauge,
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Processes != nil {
					e(float64(f.read(s.Processes)))
				}
			}})
	}
	return figures
}
