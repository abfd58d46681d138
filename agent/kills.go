package agent

import (
	"context"
	"log/slog"
	"time"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/host/oom"
	"nodal/node"
	"nodal/node/store"
	rules "nodal/reconciler/oom"
)

// hearKills opens the kernel's log. Without the right to read it, the result is nil and a warning: pods run all the same.
func hearKills(path string, mounts cgroup.Mounts, log *slog.Logger) (*oom.Log, []config.Warning) {
	kernel, err := oom.Open(path, mounts.Of)
	if err == nil {
		return kernel, nil
	}
	w := config.Warning{
		Setting: path,
		Problem: "processes that are killed for want of memory are not told as events: " + err.Error(),
		Remedy:  "run the kubelet with the capability CAP_SYSLOG, outside of a user namespace, where " + path + " exists",
	}
	log.Warn("the kernel's log cannot be read", "problem", w.Problem, "remedy", w.Remedy)
	return nil, []config.Warning{w}
}

// tellKills returns the task that adds events for the processes that the kernel kills.
func tellKills(
	kernel *oom.Log, views func() ([]store.View, int64), event func(node.Event), log *slog.Logger,
) func(context.Context) {
	return rules.Watch{
		Kernel: kernel, Cgroups: rules.Cgroups{Words: cgroup.Words, PodWords: cgroup.PodWords},
		Views: views, Event: event, Clock: time.Now, Log: log,
	}.Run
}
