package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/cadvisor/lib/model"
)

// figures are the families that upstream's kubelet has of cgroups, as far as the kernel
// or the runtime counts them here.
func figures() []figure {
	return slices.Concat(specFigures(), cpuFigures(), memoryFigures(), diskFigures(), networkFigures(), processFigures(), pressureFigures())
}

func seconds(nanos uint64) float64 { return float64(nanos) / float64(time.Second) }

func specFigures() []figure {
	about := func(name, help string, read func(model.ContainerSpec) (float64, bool)) figure {
		return figure{name: name, help: help, kind: gauge, untimed: true, read: func(c *model.ContainerInfo, _ *model.ContainerStats, e emit) {
			if value, ok := read(c.Spec); ok {
				e(value)
			}
		}}
	}
	bytes := func(limit uint64) float64 {
		if limit > 1<<62 { // none, as the kernel says it
			return 0
		}
		return float64(limit)
	}
	return []figure{
		about("container_creation_time_seconds", "Container creation time since unix epoch in seconds.",
			func(s model.ContainerSpec) (float64, bool) { return float64(s.CreationTime.Unix()), true }),
		about("container_start_time_seconds", "Start time of the container since unix epoch in seconds.", func(s model.ContainerSpec) (float64, bool) {
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
		return figure{name: name, help: help, kind: counter, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Cpu != nil {
				e(read(s.Cpu))
			}
		}}
	}
	bounded := func(name, help string, read func(model.CpuCFS) float64) figure {
		return figure{name: name, help: help, kind: counter, read: func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
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
		{name: "container_cpu_usage_seconds_total", help: "Cumulative cpu time consumed in seconds.", kind: counter, labels: []string{"cpu"},
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
	of := func(k kind, name, help string, read func(*model.MemoryStats) uint64) figure {
		return figure{name: name, help: help, kind: k, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Memory != nil {
				e(float64(read(s.Memory)))
			}
		}}
	}
	return []figure{
		of(gauge, "container_memory_cache", "Number of bytes of page cache memory.", func(m *model.MemoryStats) uint64 { return m.Cache }),
		of(gauge, "container_memory_rss", "Size of RSS in bytes.", func(m *model.MemoryStats) uint64 { return m.RSS }),
		of(gauge, "container_memory_kernel_usage", "Size of kernel memory allocated in bytes.", func(m *model.MemoryStats) uint64 { return m.KernelUsage }),
		of(gauge, "container_memory_mapped_file", "Size of memory mapped files in bytes.", func(m *model.MemoryStats) uint64 { return m.MappedFile }),
		of(gauge, "container_memory_swap", "Container swap usage in bytes.", func(m *model.MemoryStats) uint64 { return m.Swap }),
		of(counter, "container_memory_failcnt", "Number of memory usage hits limits", func(m *model.MemoryStats) uint64 { return m.Failcnt }),
		of(gauge, "container_memory_usage_bytes", "Current memory usage in bytes, including all memory regardless of when it was accessed",
			func(m *model.MemoryStats) uint64 { return m.Usage }),
		of(gauge, "container_memory_max_usage_bytes", "Maximum memory usage recorded in bytes", func(m *model.MemoryStats) uint64 { return m.MaxUsage }),
		of(gauge, "container_memory_working_set_bytes", "Current working set in bytes.", func(m *model.MemoryStats) uint64 { return m.WorkingSet }),
		of(gauge, "container_memory_total_active_file_bytes", "Current total active file in bytes.", func(m *model.MemoryStats) uint64 { return m.TotalActiveFile }),
		of(gauge, "container_memory_total_inactive_file_bytes", "Current total inactive file in bytes.",
			func(m *model.MemoryStats) uint64 { return m.TotalInactiveFile }),
		of(counter, "container_memory_events_high_total", "Cumulative count of memory.high throttle events for the container",
			func(m *model.MemoryStats) uint64 { return m.Events.High }),
		of(counter, "container_memory_events_max_total", "Cumulative count of memory.max limit hit events for the container",
			func(m *model.MemoryStats) uint64 { return m.Events.Max }),
		of(gauge, "container_memory_file_dirty_bytes", "Number of bytes of file cache that has been modified but not yet written back to disk.",
			func(m *model.MemoryStats) uint64 { return m.FileDirty }),
		of(gauge, "container_memory_file_writeback_bytes", "Number of bytes of file cache that is currently being written back to disk.",
			func(m *model.MemoryStats) uint64 { return m.FileWriteback }),
		of(counter, "container_memory_pgscan_total", "Cumulative number of pages scanned by the page reclaim algorithm.",
			func(m *model.MemoryStats) uint64 { return m.Pgscan }),
		of(counter, "container_memory_pgsteal_total", "Cumulative number of pages reclaimed by the page reclaim algorithm.",
			func(m *model.MemoryStats) uint64 { return m.Pgsteal }),
		of(counter, "container_memory_workingset_refault_file_total", "Cumulative number of refaults of previously evicted file pages.",
			func(m *model.MemoryStats) uint64 { return m.WorkingsetRefaultFile }),
		of(counter, "container_memory_workingset_refault_anon_total", "Cumulative number of refaults of previously evicted anonymous pages.",
			func(m *model.MemoryStats) uint64 { return m.WorkingsetRefaultAnon }),
		{name: "container_memory_failures_total", help: "Cumulative count of memory allocation failures.", kind: counter, labels: []string{"failure_type", "scope"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Memory != nil {
					own, all := s.Memory.ContainerData, s.Memory.HierarchicalData
					e(float64(own.Pgfault), "pgfault", "container")
					e(float64(own.Pgmajfault), "pgmajfault", "container")
					e(float64(all.Pgfault), "pgfault", "hierarchy")
					e(float64(all.Pgmajfault), "pgmajfault", "hierarchy")
				}
			}},
		{name: "container_oom_events_total", help: "Count of out of memory events observed for the container", kind: counter,
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) { e(float64(s.OOMEvents)) }},
	}
}

func diskFigures() []figure {
	of := func(name, help string, read func(*model.FsStats) uint64) figure {
		return figure{name: name, help: help, kind: gauge, labels: []string{"device"}, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			for i := range s.Filesystem {
				e(float64(read(&s.Filesystem[i])), s.Filesystem[i].Device)
			}
		}}
	}
	through := func(name, help, operation string, disks func(*model.DiskIoStats) []model.PerDiskStats) figure {
		return figure{name: name, help: help, kind: counter, labels: []string{"device"}, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.DiskIo != nil {
				for _, disk := range disks(s.DiskIo) {
					e(float64(disk.Stats[operation]), disk.Device)
				}
			}
		}}
	}
	bytes := func(d *model.DiskIoStats) []model.PerDiskStats { return d.IoServiceBytes }
	count := func(d *model.DiskIoStats) []model.PerDiskStats { return d.IoServiced }
	return []figure{
		of("container_fs_inodes_free", "Number of available Inodes", func(f *model.FsStats) uint64 { return f.InodesFree }),
		of("container_fs_inodes_total", "Number of Inodes", func(f *model.FsStats) uint64 { return f.Inodes }),
		of("container_fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem.", func(f *model.FsStats) uint64 { return f.Limit }),
		of("container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.", func(f *model.FsStats) uint64 { return f.Usage }),
		through("container_fs_reads_bytes_total", "Cumulative count of bytes read", "Read", bytes),
		through("container_fs_reads_total", "Cumulative count of reads completed", "Read", count),
		through("container_fs_writes_bytes_total", "Cumulative count of bytes written", "Write", bytes),
		through("container_fs_writes_total", "Cumulative count of writes completed", "Write", count),
		{name: "container_blkio_device_usage_total", help: "Blkio Device bytes usage", kind: counter, labels: []string{"device", "major", "minor", "operation"},
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
}

func networkFigures() []figure {
	of := func(name, help string, read func(*model.InterfaceStats) uint64) figure {
		return figure{name: name, help: help, kind: counter, labels: []string{"interface"}, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Network != nil {
				for i := range s.Network.Interfaces {
					e(float64(read(&s.Network.Interfaces[i])), s.Network.Interfaces[i].Name)
				}
			}
		}}
	}
	return []figure{
		of("container_network_receive_bytes_total", "Cumulative count of bytes received", func(i *model.InterfaceStats) uint64 { return i.RxBytes }),
		of("container_network_receive_errors_total", "Cumulative count of errors encountered while receiving", func(i *model.InterfaceStats) uint64 { return i.RxErrors }),
		of("container_network_receive_packets_total", "Cumulative count of packets received", func(i *model.InterfaceStats) uint64 { return i.RxPackets }),
		of("container_network_receive_packets_dropped_total", "Cumulative count of packets dropped while receiving", func(i *model.InterfaceStats) uint64 { return i.RxDropped }),
		of("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", func(i *model.InterfaceStats) uint64 { return i.TxBytes }),
		of("container_network_transmit_errors_total", "Cumulative count of errors encountered while transmitting", func(i *model.InterfaceStats) uint64 { return i.TxErrors }),
		of("container_network_transmit_packets_total", "Cumulative count of packets transmitted", func(i *model.InterfaceStats) uint64 { return i.TxPackets }),
		of("container_network_transmit_packets_dropped_total", "Cumulative count of packets dropped while transmitting", func(i *model.InterfaceStats) uint64 { return i.TxDropped }),
	}
}

func processFigures() []figure {
	of := func(name, help string, read func(*model.ProcessStats) uint64) figure {
		return figure{name: name, help: help, kind: gauge, read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
			if s.Processes != nil {
				e(float64(read(s.Processes)))
			}
		}}
	}
	return []figure{
		of("container_processes", "Number of processes running inside the container.", func(p *model.ProcessStats) uint64 { return p.ProcessCount }),
		of("container_file_descriptors", "Number of open file descriptors for the container.", func(p *model.ProcessStats) uint64 { return p.FdCount }),
		of("container_sockets", "Number of open sockets for the container.", func(p *model.ProcessStats) uint64 { return p.SocketCount }),
		of("container_threads", "Number of threads running inside the container", func(p *model.ProcessStats) uint64 { return p.ThreadsCurrent }),
		of("container_threads_max", "Maximum number of threads allowed inside the container, infinity if value is zero", func(p *model.ProcessStats) uint64 { return p.ThreadsMax }),
		{name: "container_ulimits_soft", help: "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice", kind: gauge, labels: []string{"ulimit"},
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if s.Processes != nil {
					for _, limit := range s.Processes.Ulimits {
						e(float64(limit.SoftLimit), limit.Name)
					}
				}
			}},
	}
}

func pressureFigures() []figure {
	of := func(what, kindOf, help string, read func(*model.ContainerStats) (uint64, bool)) figure {
		return figure{name: "container_pressure_" + what + "_" + kindOf + "_seconds_total", help: help, kind: counter,
			read: func(_ *model.ContainerInfo, s *model.ContainerStats, e emit) {
				if micros, ok := read(s); ok {
					e(float64(micros) / 1e6)
				}
			}}
	}
	both := func(what, cause string, psi func(*model.ContainerStats) *model.PSIStats) []figure {
		return []figure{
			of(what, "stalled", "Total time duration no tasks in the container could make progress due to "+cause+" congestion.", func(s *model.ContainerStats) (uint64, bool) {
				if p := psi(s); p != nil {
					return p.Full.Total, true
				}
				return 0, false
			}),
			of(what, "waiting", "Total time duration tasks in the container have waited due to "+cause+" congestion.", func(s *model.ContainerStats) (uint64, bool) {
				if p := psi(s); p != nil {
					return p.Some.Total, true
				}
				return 0, false
			}),
		}
	}
	return slices.Concat(
		both("cpu", "CPU", func(s *model.ContainerStats) *model.PSIStats {
			if s.Cpu == nil {
				return nil
			}
			return &s.Cpu.PSI
		}),
		both("memory", "memory", func(s *model.ContainerStats) *model.PSIStats {
			if s.Memory == nil {
				return nil
			}
			return &s.Memory.PSI
		}),
		both("io", "IO", func(s *model.ContainerStats) *model.PSIStats {
			if s.DiskIo == nil {
				return nil
			}
			return &s.DiskIo.PSI
		}))
}
