package cgroup

import (
	"fmt"
	"slices"
	"testing"

	"nodal/node/limit"
)

func TestSettings(t *testing.T) {
	all := limit.Limits{CPUShares: 1024, CPUQuota: 50_000, CPUPeriod: 100_000, Memory: 4096, Pids: 10, MemoryMin: 1024, MemoryLow: 512, MemoryHigh: 2048}
	none := limit.Limits{CPUShares: 2}
	for _, c := range []struct {
		name    string
		version int
		limits  limit.Limits
		want    []setting
	}{
		{"version 1", 1, all, []setting{
			{"cpu", "cpu.shares", "1024"}, {"cpu", "cpu.cfs_period_us", "100000"}, {"cpu", "cpu.cfs_quota_us", "50000"},
			{"memory", "memory.limit_in_bytes", "4096"}, {"pids", "pids.max", "10"},
		}},
		{"version 1 without bounds", 1, none, []setting{
			{"cpu", "cpu.shares", "2"}, {"cpu", "cpu.cfs_period_us", "100000"}, {"cpu", "cpu.cfs_quota_us", "-1"},
			{"memory", "memory.limit_in_bytes", "-1"}, {"pids", "pids.max", "max"},
		}},
		{"version 2", 2, all, []setting{
			{"cpu", "cpu.weight", "100"}, {"cpu", "cpu.max", "50000 100000"}, {"memory", "memory.min", "1024"}, {"memory", "memory.low", "512"},
			{"memory", "memory.high", "2048"}, {"memory", "memory.max", "4096"}, {"pids", "pids.max", "10"},
		}},
		{"version 2 without bounds", 2, none, []setting{
			{"cpu", "cpu.weight", "1"}, {"cpu", "cpu.max", "max 100000"}, {"memory", "memory.min", "0"}, {"memory", "memory.low", "0"},
			{"memory", "memory.high", "max"}, {"memory", "memory.max", "max"}, {"pids", "pids.max", "max"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := settings(c.version, c.limits); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWeightMeetsBothScales(t *testing.T) {
	for shares, want := range map[int64]int64{0: 1, 2: 1, 102: 17, 512: 59, 1024: 100, 262_144: 10_000, 1 << 40: 10_000} {
		if got := weight(shares); got != want {
			t.Errorf("%d shares weigh %d, want %d", shares, got, want)
		}
	}
}

func TestPropertiesOfASlice(t *testing.T) {
	const boundless = "@t 18446744073709551615"
	limits := limit.Limits{CPUShares: 1024, CPUQuota: 1_500, CPUPeriod: 100_000, Memory: 4096, MemoryMin: 1024}
	for version, want := range map[int][]string{
		1: {"CPUShares @t 1024", "CPUQuotaPerSecUSec @t 20000", "CPUQuotaPeriodUSec @t 100000", "MemoryLimit @t 4096", "TasksMax " + boundless},
		2: {"CPUWeight @t 100", "CPUQuotaPerSecUSec @t 20000", "CPUQuotaPeriodUSec @t 100000", "MemoryMax @t 4096", "TasksMax " + boundless, "MemoryMin @t 1024", "MemoryLow @t 0", "MemoryHigh " + boundless},
	} {
		var got []string
		for _, p := range newSystemd(version).properties(limits) {
			got = append(got, fmt.Sprint(p.Name, " ", p.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("in version %d: got %q, want %q", version, got, want)
		}
	}
}
