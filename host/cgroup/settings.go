package cgroup

import (
	"math"
	"strconv"

	"nodal/node/limit"
)

// setting is a value for one of the kernel's files.
type setting struct{ controller, file, value string }

// settings translates limits into the settings of a version of cgroups.
func settings(version int, l limit.Limits) []setting {
	if version == 2 {
		return []setting{
			{"cpu", "cpu.weight", decimal(weight(l.CPUShares))},
			{"cpu", "cpu.max", bounded(l.CPUQuota, "max") + " " + decimal(period(l))},
			{"memory", "memory.min", decimal(l.MemoryMin)},
			{"memory", "memory.low", decimal(l.MemoryLow)},
			{"memory", "memory.high", bounded(l.MemoryHigh, "max")},
			{"memory", "memory.max", bounded(l.Memory, "max")},
			{"pids", "pids.max", bounded(l.Pids, "max")},
		}
	}
	return []setting{
		{"cpu", "cpu.shares", decimal(l.CPUShares)},
		{"cpu", "cpu.cfs_period_us", decimal(period(l))},
		{"cpu", "cpu.cfs_quota_us", bounded(l.CPUQuota, "-1")},
		{"memory", "memory.limit_in_bytes", bounded(l.Memory, "-1")},
		{"pids", "pids.max", bounded(l.Pids, "max")},
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func bounded(n int64, boundless string) string {
	if n == 0 {
		return boundless
	}
	return decimal(n)
}

func period(l limit.Limits) int64 {
	if l.CPUPeriod == 0 {
		return limit.DefaultCPUPeriod
	}
	return l.CPUPeriod
}

// weight converts shares of version 1 to weight of version 2. The curve is the one of the
// runtimes that make the containers inside: it meets the least, the default and the greatest
// value of both scales.
func weight(shares int64) int64 {
	const most = 10_000
	if shares <= limit.MinCPUShares {
		return 1
	}
	x := math.Log2(float64(shares))
	return min(int64(math.Ceil(math.Pow(10, (x*x+125*x)/612-7.0/34))), most)
}
