package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/images"
	"nodal/host/image"
	"nodal/host/probe"
	"nodal/host/source"
	"nodal/host/stats"
	"nodal/host/usage"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/reconciler/gc"
	"nodal/server/auth"
)

// parts look after pods and images. They are put together by build and do not change.
type parts struct {
	site       node.Site
	intake     intake.Intake // of pods from any source
	sources    *store.Sources
	origins    []podSource // of pods besides the API
	puller     *image.Puller
	collector  *gc.Collector // of images
	prober     *probe.Prober
	meter      *usage.Meter     // of the disk, by pods
	figures    *stats.Collector // of what is used
	vitals     *reconciler.Vitals
	reconciler *reconciler.Reconciler
	guard      *auth.Authenticator // of the API; nil if nothing is served
}

// build puts the parts together.
func build(o Options, f facts, m memory, r runtime, guard *auth.Authenticator) (p parts, err error) {
	report := m.state.Events.Add
	pulls := images.Config{
		Settings: o.Config.Images, Dirs: o.Config.Dirs, State: m.state, Removed: m.counts.Collected, Log: o.Log,
	}
	if p.puller, err = pulls.Puller(r.client); err != nil {
		return p, err
	}
	p.collector = pulls.Collector(r.client, p.puller)
	p.meter = usage.New(usage.Config{Volumes: m.volumes, LogDir: m.files.Logs.PodDir, Layers: r.client.PodLayers})
	p.figures = newFigures(o, f, m, r, p.meter)
	p.vitals = newVitals(o, r, p.figures)
	p.intake = intake.Intake{
		Store: m.state.Store, Offer: f.offers.Read, Present: present(p.vitals.Short, r.client.Known),
		Storage: m.keeper, NewUID: uuid.NewUUID, Sources: locations(o.Config.Sources),
		Preempted: preempted(report, m.counts.Preempted),
	}
	p.sources = store.NewSources(p.intake.Sources)
	p.sources.Delivered(node.SourceAPI, f.started, nil) // the journal brought back what was posted
	sink := source.Sink{Intake: p.intake, Board: p.sources, Event: report}
	if p.origins, err = podSources(o.Config.Sources, sink); err != nil {
		return p, err
	}
	p.prober = probe.New(probe.Config{Exec: r.client, Tell: report})
	p.site = site(o.Config, f.addresses, r.name)
	p.guard = guard
	p.reconciler = newReconciler(o, f, m, r, p)
	return p, nil
}

// site returns the node as statuses of pods show it.
func site(cfg *config.Config, addresses []string, runtimeName string) node.Site {
	return node.Site{
		NodeName: cfg.Node.Name, HostIPs: addresses, Runtime: runtimeName, BackoffMax: cfg.Pods.CrashLoopMax,
		Cgroups: cfg.Cgroups.PerPod, Limits: cgroups.Rules(cfg.Cgroups),
	}
}

// newVitals returns the owner of the node's conditions.
func newVitals(o Options, r runtime, figures *stats.Collector) *reconciler.Vitals {
	return reconciler.NewVitals(reconciler.VitalsConfig{
		Runtime: r.client, Signals: figures.Signals, Thresholds: o.Config.Reserved.Eviction,
		Hold: o.Config.Reserved.Shortage, Clock: time.Now, Log: o.Log,
	})
}

// newFigures returns the collector of what the node and its pods use.
func newFigures(o Options, f facts, m memory, r runtime, meter *usage.Meter) *stats.Collector {
	system := cgroups.System{Mounts: f.cgroups, Pods: r.cgroups}
	if r.own != nil {
		system.Daemon = r.own.Pid
	}
	groups := stats.Cgroups{Version: f.cgroups.Version, Dirs: f.cgroups.Dirs(), System: system.Find}
	if r.cgroups != nil {
		groups.Pod = r.cgroups.Path
	}
	return stats.New(stats.Config{
		Runtime: r.client, Cgroups: groups, Views: m.state.Store.Views, NodeName: o.Config.Node.Name,
		Started: f.machine.Booted, Root: o.Config.Dirs.Root, Disk: meter,
	})
}
