package cgroups

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/node/limit"
)

// Find returns the machine's cgroups. It fails if the settings ask for cgroups that the machine does not have.
func Find(settings config.Cgroups, swaps bool, log *slog.Logger) (cgroup.Mounts, error) {
	mounts, err := cgroup.FindMounts()
	if err != nil && settings.PerPod {
		return mounts, fmt.Errorf("cgroupsPerQOS: %w", err)
	}
	if err := check(settings, mounts.Version, swaps); err != nil {
		return mounts, err
	}
	if mounts.Version == 1 {
		log.Info("cgroup v1 is deprecated by the kernel and by Kubernetes; use a machine with cgroup v2")
	}
	if missing := mounts.Missing(); len(missing) > 0 {
		log.Warn("some limits of pods cannot be enforced: cgroup controllers are missing", "controllers", missing)
	}
	return mounts, nil
}

// check compares the settings with the version of the machine's cgroups.
func check(settings config.Cgroups, version int, swaps bool) error {
	switch {
	case settings.FailOnSwap && swaps:
		return errors.New("failSwapOn: this machine swaps; turn swap off, or set failSwapOn to false")
	case version == 1 && settings.FailOnV1:
		return errors.New("failCgroupV1: this machine has version 1 of cgroups; " +
			"move it to version 2, or set failCgroupV1 to false")
	case version == 1 && settings.LimitedSwap:
		return errors.New("memorySwap.swapBehavior: LimitedSwap takes version 2 of cgroups, this machine has version 1; " +
			"move it, or set NoSwap")
	}
	return nil
}

// Rules returns the rules that pods' limits are computed by. Memory is kept, and slowed down, by version 2 alone.
func Rules(settings config.Cgroups, version int) limit.Rules {
	r := limit.Rules{
		CPUPeriod: settings.CPUQuotaPeriod.Microseconds(), NoQuota: !settings.CPUQuota, OwnQuota: settings.OwnQuota,
		Pids: settings.PodPids,
	}
	if version == 2 {
		r.Memory = limit.Memory{Keep: settings.KeepMemory, Throttle: settings.Throttle, Page: int64(os.Getpagesize())}
	}
	return r
}

// Unkept returns the settings that the machine keeps from their effect, or makes unsafe.
func Unkept(settings config.Cgroups, version int, kernel string) (all []config.Warning) {
	warn := func(setting, problem, remedy string) {
		all = append(all, config.Warning{Setting: setting, Problem: problem, Remedy: remedy})
	}
	const needs = "has no effect: it takes version 2 of cgroups, this machine has version 1, and so "
	if settings.KeepMemory && version == 1 {
		warn("memoryReservationPolicy", needs+"memory.min and memory.low of pods are not set",
			"move the machine, or set None")
	}
	if settings.Throttle > 0 && version == 1 {
		warn("memoryThrottlingFactor", needs+"memory.high of containers is not set", "move the machine, or leave it out")
	}
	if settings.Throttle > 0 && version == 2 && older(kernel, 5, 9) {
		warn("memoryThrottlingFactor", "kernel "+kernel+" may let a container hang that reaches memory.high",
			"take 5.9 or newer, or leave it out")
	}
	return all
}

// older reports whether a kernel's release is before a version.
func older(kernel string, major, minor int) bool {
	var is, sub int
	if n, _ := fmt.Sscanf(kernel, "%d.%d", &is, &sub); n < 2 {
		return false
	}
	return is < major || is == major && sub < minor
}

// OOMGroup reports whether the OOM killer ends all processes of a container together. That takes version 2 of cgroups.
func OOMGroup(settings config.Cgroups, mounts cgroup.Mounts) bool {
	single := settings.OOMSingle
	return mounts.Version == 2 && (single == nil || !*single)
}
