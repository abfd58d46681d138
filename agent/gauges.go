package agent

import (
	"context"
	"strings"
	"time"

	"nodal/agent/cgroups"
	"nodal/agent/record"
	"nodal/agent/state"
	"nodal/host/cgroup"
	"nodal/host/stats"
	"nodal/host/usage"
	"nodal/node"
	"nodal/reconciler"
	"nodal/server"
)

// gauges measure what is used, and how the node is.
type gauges struct {
	meter   *usage.Meter     // of the disk, by pods
	figures *stats.Collector // of what the node and its pods use
	vitals  *reconciler.Vitals
	past    *record.Recorder // of what was used; nil if nothing is recorded
}

// measure makes the gauges. down reports whether the machine shuts down.
func measure(o Options, f facts, m memory, r runtime, down func() bool) (g gauges) {
	cfg := o.Config
	g.meter = usage.New(usage.Config{Volumes: m.volumes, LogDir: m.files.Logs.PodDir, Layers: r.stats.PodLayers, Ask: m.csi.Use, Walked: m.counts.Measured})
	g.figures = stats.New(stats.Config{
		Runtime: r.stats, Cgroups: counted(f.cgroups, r.cgroups, r.pid(), cfg.Cgroups.Runtime), Views: m.state.Store.Views,
		NodeName: cfg.Node.Name, Started: f.machine.Booted, Root: cfg.Dirs.Root, Disk: g.meter,
	})
	g.vitals = reconciler.NewVitals(reconciler.VitalsConfig{
		Runtime: withFault{withCgroups{r.health, r.cgroups}, r.own.Fault}, Signals: g.figures.Signals,
		Rules: cfg.Reserved.Rules, Hold: cfg.Reserved.Shortage, Down: down, Clock: time.Now, Log: o.Log,
	})
	g.past = newRecorder(o, m.state, counted(f.cgroups, r.cgroups, nil, ""))
	return g
}

// newRecorder makes the recorder of what is used, or returns nil if the node shall record nothing.
func newRecorder(o Options, s *state.State, groups stats.Cgroups) *record.Recorder {
	if o.Config.UsageHistory == 0 || o.Config.Sources.Once {
		return nil
	}
	return record.New(record.Config{
		Dir: o.Config.Dirs.UsageHistory(), MaxBytes: o.Config.UsageHistory, Report: s.Events.Add, Clock: time.Now, Log: o.Log,
		Sampler: stats.NewSampler(stats.SamplerConfig{
			Cgroups: groups, Views: s.Store.Views, Revision: s.Store.Revision,
		}),
	})
}

// remembered returns the questions that the recorder answers; nil if nothing is recorded.
func (g gauges) remembered() server.Past {
	if g.past == nil {
		return nil
	}
	return g.past.Past
}

// withFault is the health of a runtime. It also says what the network of a ready one cannot do on this machine.
type withFault struct {
	reconciler.RuntimeHealth
	fault func() string
}

// Status asks for the status of the runtime.
func (w withFault) Status(ctx context.Context) (node.RuntimeStatus, error) {
	s, err := w.RuntimeHealth.Status(ctx)
	if err == nil && s.Ready && s.NetworkReady && s.Message == "" {
		s.Message = w.fault()
	}
	return s, err
}

// withCgroups is the health of a runtime. A ready one that can start no pod, because none can have a cgroup, is not ready.
type withCgroups struct {
	reconciler.RuntimeHealth
	pods *cgroups.Pods // nil if pods have none of their own
}

// Status asks for the status of the runtime.
func (w withCgroups) Status(ctx context.Context) (node.RuntimeStatus, error) {
	s, err := w.RuntimeHealth.Status(ctx)
	if err != nil || !s.Ready || w.pods == nil {
		return s, err
	}
	if unable := w.pods.Able(ctx); unable != nil {
		s.Ready = false
		s.Message = strings.TrimPrefix(s.Message+"; "+unable.Error(), "; ")
	}
	return s, nil
}

// counted returns the cgroups that are measured. pods is nil if pods have none of their own. daemon is nil if the
// runtime is not the agent's; then other may name the runtime's cgroup.
func counted(mounts cgroup.Mounts, pods *cgroups.Pods, daemon func() int, other string) stats.Cgroups {
	system := cgroups.System{Mounts: mounts, Pods: pods, Daemon: daemon, Other: other}
	groups := stats.Cgroups{Version: mounts.Version, Dirs: mounts.Dirs(), System: system.Find}
	if pods != nil {
		groups.Pod = pods.Path
	}
	return groups
}
