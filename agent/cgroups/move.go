package cgroups

import (
	"context"
	"log/slog"
	"time"

	"nodal/agent/config"
	"nodal/host/cgroup"
)

// Enter moves the agent to its cgroup. A machine that does not let it is no reason not to start.
func Enter(settings config.Cgroups, mounts cgroup.Mounts, log *slog.Logger) []config.Warning {
	if settings.Kubelet == "" {
		return nil
	}
	err := mounts.Enter(settings.Kubelet)
	if err == nil {
		log.Info("the kubelet runs in a cgroup of its own", "cgroup", settings.Kubelet)
		return nil
	}
	log.Warn("the kubelet stays in the cgroup in which it was started", "err", err)
	return []config.Warning{{
		Setting: "kubeletCgroups", Problem: "the kubelet stays in the cgroup in which it was started: " + err.Error(),
		Remedy: "name a cgroup that may have processes, or leave it out",
	}}
}

// gatherEvery is the time after which new processes may be in no cgroup of their own.
const gatherEvery = time.Minute

// Gather moves processes that are in no cgroup to the one that is configured for them, now and once in a while, until
// the context ends.
func Gather(ctx context.Context, settings config.Cgroups, mounts cgroup.Mounts, log *slog.Logger) {
	ticker := time.NewTicker(gatherEvery)
	defer ticker.Stop()
	for {
		moved, err := mounts.Gather(settings.System)
		if err != nil {
			log.Warn("some processes are in no cgroup", "wanted", settings.System, "err", err)
		}
		if moved > 0 {
			log.Info("moved processes that were in no cgroup", "cgroup", settings.System, "processes", moved)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
