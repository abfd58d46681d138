package agent

import (
	"path/filepath"
	goruntime "runtime"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/images"
	"nodal/agent/recall"
	"nodal/agent/reload"
	"nodal/agent/state"
	"nodal/host/csi"
	"nodal/host/device"
	"nodal/host/dra"
	"nodal/host/plugin"
	"nodal/host/probe"
	"nodal/host/source"
	"nodal/node"
	"nodal/node/assign"
	"nodal/node/intake"
	"nodal/node/status"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/reconciler/evict"
	"nodal/reconciler/gc"
	"nodal/reconciler/shutdown"
	"nodal/server"
	"nodal/server/auth"
)

// parts look after pods and images. They are put together by build and do not change.
type parts struct {
	gauges
	config     *reload.Keeper // of what is in force
	site       node.Site
	intake     intake.Intake // of pods from any source
	handover   handover
	sources    *store.Sources
	origins    []podSource // of pods besides the API
	shelf      *images.Shelf
	plugins    *plugin.Registry
	devices    *device.Plugins
	prober     *probe.Prober
	reconciler *reconciler.Reconciler
	relief     *evict.Relief
	logs       *gc.LogCollector
	machine    *shutdown.Machine
	recall     *recall.Keeper      // of how pods were; nil if nothing is recorded
	guard      *auth.Authenticator // of the API; nil if nothing is served
}

// build puts the parts together.
func build(o Options, f facts, m memory, r runtime, guard *auth.Authenticator) (p parts, err error) {
	cfg, report := o.Config, m.state.Events.Add
	p.machine = newMachine(o, m)
	p.gauges, p.guard = measure(o, f, m, r, p.machine.Down), guard
	if p.config, err = keepConfig(o, f, m); err != nil {
		return p, err
	}
	m.counts.Keeps(r.cgroups.Kept)
	p.site = site(cfg, f, r.name)
	pulls := images.Config{
		Settings: cfg.Images, Policy: imagePolicy(p.config.Running), Dirs: cfg.Dirs, State: m.state,
		Counts: m.counts, Log: o.Log,
	}
	if p.shelf, err = pulls.Shelf(r.images, r.endpoint, r.registry()); err != nil {
		return p, err
	}
	p.handover = handover{
		root: cfg.Dirs.Root, before: heldBefore(cfg.Dirs.Root, o.Log), store: m.state.Store, devices: f.devices, log: o.Log,
		rules: func() *assign.Rules { return f.offers.Read().Assign },
	}
	p.intake = intake.Intake{
		Store: m.state.Store, Offer: f.offers.Read, Present: present(p.machine.Down, p.vitals.Short, r.health.Known),
		Storage: m.keeper, NewUID: uuid.NewUUID, Sources: locations(cfg), Policy: cfg.Policy,
		Preempted: preempted(report, m.counts.Preempted), Unheld: r.own.Unheld, Cordon: m.cordon.State,
		NoWorkloads: noWorkloads(f), Services: services(o.Config.Runtime, f, r.own),
	}
	p.intake.Before = p.handover.before
	p.machine.Resume = p.intake.Resume
	p.sources = store.NewSources(p.intake.Sources)
	p.sources.Delivered(node.SourceAPI, f.started, nil) // the journal brought back what was posted
	sink := source.Sink{Intake: p.intake, Board: p.sources, Event: report}
	if p.origins, err = podSources(cfg.Sources, sink); err != nil {
		return p, err
	}
	if p.plugins, err = openPlugins(o, m.plugins); err != nil {
		return p, err
	}
	if p.devices, err = device.Open(device.Config{
		Dir: cfg.Dirs.DevicePlugins(), RegistryDir: cfg.Dirs.Plugins(), Registry: p.plugins.Board, Board: f.devices, Log: o.Log, Counts: m.counts,
	}); err != nil {
		return p, err
	}
	p.plugins.Board.Serve(device.Kind, p.devices.Check)
	p.plugins.Board.Serve(node.DRAPlugin, dra.Check)
	f.specs.Ignored = r.health.IgnoresCDI
	m.counts.Plugins(p.plugins.Board.List, func(name string) string { return filepath.Join(cfg.Dirs.Plugins(), name) })
	m.counts.Resizing(func(v store.View) bool { return status.Resizing(p.site, v.Slot, v.Got) })
	p.prober = probe.New(probe.Config{Exec: r.streams, Tell: report})
	act := reconciler.Act{
		Store: m.state.Store, Runtime: r.pods, Images: p.shelf.Puller, Hooks: p.prober, Logs: m.files,
		Volumes: m.volumes, Storage: m.keeper, Clock: time.Now, Freed: freed(p.intake.Readmit), Devices: devices{p.devices, f.specs}, Claims: claimDrivers(o, m, r),
		Rules: func() *assign.Rules { return f.offers.Read().Assign },
	}
	if r.cgroups != nil {
		act.Cgroups = r.cgroups
	}
	p.reconciler = reconciler.New(reconciler.Config{
		Act: act, Tracer: f.tracing.Steps, Counts: m.counts, Prober: p.prober, Events: m.state.Events,
		Sources: p.sources, Site: p.site, Pool: assign.NewPool(f.offers.Read().Assign),
		Offers: f.offers, Log: o.Log, Relist: reconciler.PollEvery, Starts: makeLimit(goruntime.NumCPU()),
		Kinds: []reconciler.Kind{
			reconciler.ReleasedVolumes(m.state.Store, m.volumes), reconciler.RegisteredPlugins(m.plugins, p.plugins),
			reconciler.CSIVolumes(reconciler.VolumesOf(m.state.Store), m.plugins, m.csi),
			reconciler.GrownVolumes(reconciler.GrowthsIn(m.state.Store, m.plugins), m.csi, m.plugins, m.csi.Publications()),
			reconciler.PublishedVolumes(reconciler.Republishing(m.state.Store), reconciler.DrivenOf(m.state.Store), m.csi.Publications(), m.volumes),
		},
	})
	p.logs = &gc.LogCollector{
		Store: m.state.Store, Files: m.files, Every: cfg.Pods.Logs.Every, Log: o.Log, Clock: time.Now,
		Event: report,
	}
	p.relief = newRelief(o, m, p)
	p.recall = newKeeper(o, m.state, p.site)
	p.config.Join(p.taking(o, f).takers()...)
	return p, nil
}

// newKeeper makes the keeper of how pods were, or returns nil if the node shall not record it.
func newKeeper(o Options, s *state.State, site node.Site) *recall.Keeper {
	if o.Config.PodHistory == 0 || o.Config.Sources.Once {
		return nil
	}
	return recall.New(recall.Config{
		Dir: o.Config.Dirs.PodHistory(), MaxBytes: o.Config.PodHistory, Store: s.Store, Site: site, Report: s.Events.Add,
		Clock: time.Now, Log: o.Log,
	})
}

// recalled returns the question that the keeper answers; nil if nothing is recorded.
func (p parts) recalled() server.PastPod {
	if p.recall == nil {
		return nil
	}
	return p.recall.Was
}

// openPlugins opens the directory in which plugins register. Plugins of types that the board does not serve are told so.
func openPlugins(o Options, board *store.Plugins) (*plugin.Registry, error) {
	return plugin.Open(plugin.Config{Dir: o.Config.Dirs.Plugins(), Board: board, Log: o.Log, Meet: csi.Meet})
}

// site returns the node as statuses of pods show it.
func site(cfg *config.Config, f facts, runtimeName string) node.Site {
	return node.Site{
		NodeName: cfg.Node.Name, HostIPs: f.addresses, Runtime: runtimeName, BackoffMax: cfg.Pods.CrashLoopMax,
		Cgroups: cfg.Cgroups.PerPod, Limits: cgroups.Rules(cfg.Cgroups, f.cgroups.Version), Retention: &cfg.Pods.Ended, Boot: f.machine.IDs.Boot,
	}
}
