package cgroups

import (
	"errors"
	"fmt"
	"log/slog"

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

// Rules returns the rules that pods' limits are computed by.
func Rules(settings config.Cgroups) limit.Rules {
	return limit.Rules{
		CPUPeriod: settings.CPUQuotaPeriod.Microseconds(), NoQuota: !settings.CPUQuota, Pids: settings.PodPids,
	}
}

// OOMGroup reports whether the OOM killer ends all processes of a container together. That takes version 2 of cgroups.
func OOMGroup(settings config.Cgroups, mounts cgroup.Mounts) bool {
	single := settings.OOMSingle
	return mounts.Version == 2 && (single == nil || !*single)
}
