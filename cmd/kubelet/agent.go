package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	goruntime "runtime"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/files"
	"nodal/agent/images"
	"nodal/agent/membership"
	"nodal/agent/offering"
	"nodal/agent/ownruntime"
	"nodal/agent/state"
	"nodal/agent/tracing"
	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/host/image"
	"nodal/host/notify"
	"nodal/host/probe"
	"nodal/host/source"
	"nodal/host/stats"
	"nodal/host/usage"
	"nodal/host/volume"
	"nodal/node"
	"nodal/node/assign"
	"nodal/node/intake"
	"nodal/node/limit"
	"nodal/node/offer"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/server/auth"
	"nodal/server/metrics"
)

const (
	relist    = time.Second     // of a runtime that tells nothing itself
	firstLook = 3 * time.Second // how long the API and the sources wait for a runtime that hangs
)

// sideways is how many sandboxes and containers are made side by side. Making one
// is work of the machine's cores; a few more than there are of them keep all
// busy, and many more only disturb each other.
func sideways() int { return max(4, 2*goruntime.NumCPU()) }

// agent is all the parts of the daemon, put together.
type agent struct {
	cfg       *config.Config
	log       *slog.Logger
	level     *verbosity // of the log
	started   time.Time
	machine   machine
	site      node.Site
	offers    offer.Board // what the node has for pods
	owner     *offering.Owner
	usage     *usage.Meter       // of the disk, by pods
	figures   *stats.Collector   // of what is used
	vitals    *reconciler.Vitals // of the node
	state     *state.State
	sources   *store.Sources
	origins   []podSource
	runtime   *cri.Runtime
	puller    *image.Puller
	collector *reconciler.Collector // of images
	own       *ownruntime.Runtime   // nil if the runtime is not the agent's
	files     files.Files
	cgroups   *cgroups.Pods // nil: pods have none of their own
	volumes   *volume.Tree
	guard     *auth.Authenticator    // of the API
	cluster   *membership.Membership // nil: the node stands alone
	prober    *probe.Prober
	counts    *metrics.Agent // of what the agent does
	tracing   tracing.Hooks

	supervisor notify.Supervisor
	alive      func(context.Context) error // of the reconciler, once it is at work
}

func newAgent(ctx context.Context, cfg *config.Config, log *slog.Logger) (*agent, error) {
	if fields := config.Unhonoured(cfg); len(fields) > 0 {
		log.Warn("some settings are taken and have no effect yet", "settings", fields)
	}
	if err := os.MkdirAll(cfg.Dirs.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make the root directory: %w", err)
	}
	a := &agent{cfg: cfg, log: log, started: time.Now(), files: files.In(cfg.Dirs, log)}
	var err error
	if err = a.lookAround(ctx); err != nil {
		return nil, err
	}
	if a.state, err = state.Open(cfg.Dirs, log); err != nil {
		return nil, err
	}
	a.counts = metrics.NewAgent(cfg.NodeName, a.machine.cgroups.Version, a.state.Store.Views)
	a.count()
	a.state.ClearWay()
	a.volumes = volume.New(volume.Config{
		Pods: cfg.Dirs.Pods(), Local: a.keeper().Dir,
		Objects: a.state.Store, Allocatable: a.allocatable, Swept: a.counts.Swept,
	})
	a.state.Adopt(a.volumes.Adopt)
	if err := a.prepare(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.usage = usage.New(usage.Config{Volumes: a.volumes, LogDir: a.files.Logs.PodDir, Layers: a.runtime.PodLayers})
	a.figures = a.stats()
	a.vitals = a.newVitals()
	a.site = node.Site{
		NodeName: cfg.NodeName, HostIPs: a.machine.ips, Runtime: "containerd", BackoffMax: cfg.CrashLoopMax,
		Cgroups: a.cgroups != nil, Limits: cgroups.Rules(cfg.Cgroups),
	}
	a.sources = store.NewSources(a.locations())
	a.sources.Delivered(node.SourceAPI, a.started, nil) // what was posted came back with the journal
	if a.origins, err = a.podSources(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// prepare makes the node's identity, at its first start, while the runtime comes
// up.
func (a *agent) prepare(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.reachRuntime(ctx) })
	if !a.cfg.RunOnce { // which serves nobody
		group.Go(func() (err error) {
			a.guard, err = a.door()
			return err
		})
	}
	return group.Wait()
}

// reachRuntime takes the runtime that is configured, or brings one up.
func (a *agent) reachRuntime(ctx context.Context) error {
	if r := &a.cfg.Runtime; r.Endpoint == "" {
		own, err := ownruntime.Start(ctx, a.cfg.Dirs, *r, a.state.Events, a.log)
		if err != nil {
			return err
		}
		a.own = own
		r.Endpoint = own.Endpoint()
	}
	if a.cfg.Cgroups.PerPod {
		a.cgroups = a.podCgroups()
	}
	client, err := cri.Dial(a.runtimeConfig(), a.log)
	if err != nil {
		return err
	}
	a.ask(ctx, client)
	a.runtime = client
	pulls := images.Config{
		Settings: a.cfg.Images, Dirs: a.cfg.Dirs, State: a.state, Removed: a.counts.Collected, Log: a.log,
	}
	if a.puller, err = pulls.Puller(client); err != nil {
		return err
	}
	a.collector = pulls.Collector(client, a.puller)
	a.prober = probe.New(probe.Config{Exec: a.runtime, Tell: a.state.Events.Add})
	return nil
}

// podCgroups returns the cgroups of pods below the place that is theirs.
func (a *agent) podCgroups() *cgroups.Pods {
	c := cgroups.Config{
		Mounts: a.machine.cgroups, Fallback: a.cfg.Cgroups.Driver, Root: a.cfg.Runtime.CgroupRoot,
		Driver:  func(ctx context.Context) (string, error) { return a.runtime.CgroupDriver(ctx) },
		AllPods: a.allPods, Running: a.state.Running, Log: a.log,
	}
	if a.own != nil && c.Root == "" {
		c.Name = ownruntime.PodCgroup(a.cfg.Dirs.Root)
	} else { // other kubelets may have their pods there; a pod of this node has a directory of this node
		c.Ours = a.volumes.IsOurs
	}
	return cgroups.NewPods(c)
}

// cgroupParent returns where a pod's containers belong.
func (a *agent) cgroupParent() func(*corev1.Pod) string {
	if a.cgroups != nil {
		return a.cgroups.Parent
	}
	parent := a.cfg.Runtime.CgroupRoot
	if parent == "" && a.own != nil {
		parent = "/" + ownruntime.PodCgroup(a.cfg.Dirs.Root)
		if a.own.CgroupDriver() == "systemd" {
			parent = ownruntime.PodCgroup(a.cfg.Dirs.Root) + ".slice"
		}
	}
	return func(*corev1.Pod) string { return parent }
}

func (a *agent) close() error {
	var err error
	if a.runtime != nil { // else it was not reached
		err = a.runtime.Close()
	}
	if a.own != nil {
		err = errors.Join(err, a.own.Close(a.cfg.Runtime.StopOnExit))
	}
	return errors.Join(err, a.state.Close())
}

func (a *agent) runtimeConfig() cri.Config {
	r := a.cfg.Runtime
	return cri.Config{
		Endpoint: r.Endpoint, ImageEndpoint: r.ImageEndpoint, RequestTimeout: r.RequestTimeout,
		PodLogsDir: a.cfg.Dirs.PodLogs, ResolvConf: a.resolvConf(),
		Node: a.podNode, CgroupParent: a.cgroupParent(), Objects: a.state.Store.Object,
		Extras:    []spec.Contributor{files.OfVolumes(a.volumes), a.files.Extras},
		LastWords: a.files.LastWords, Event: a.state.Events.Add,
		Called: a.counts.Called, Trace: a.tracing.Calls,
	}
}

// podNode is what pods are translated for.
func (a *agent) podNode() spec.Node {
	r := a.cfg.Runtime
	return spec.Node{
		SeccompDefault: r.SeccompDefault, SeccompDir: a.cfg.Dirs.Seccomp(), Sysctls: a.cfg.PodSysctls,
		DNS:     spec.DNS{Servers: r.ClusterDNS, Domain: r.ClusterDomain},
		Machine: a.forContainers(),
	}
}

func (a *agent) allocatable() corev1.ResourceList { return a.offers.Read().Allocatable }

func (a *agent) allPods() limit.Limits { return a.offers.Read().Whole }

// forContainers returns the machine as containers are told of it now.
func (a *agent) forContainers() spec.Machine {
	o := a.offers.Read()
	return spec.Machine{
		Name: o.Name, IPs: a.machine.ips, Memory: o.Capacity.Memory().Value(), Allocatable: o.Allocatable,
		OOMGroup: cgroups.OOMGroup(a.cfg.Cgroups, a.machine.cgroups), HugePageSizes: a.machine.hugePages,
		Throttles: a.machine.throttles, SwapLimits: a.limitsSwap(), Swap: o.Swap,
	}
}

// resolvConf is the file that pods inherit. A host without it has nothing to
// pass on.
func (a *agent) resolvConf() string {
	path := a.cfg.Runtime.ResolvConf
	if path == "" {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		a.log.Warn("pods get no resolver configuration", "err", err)
		return ""
	}
	return path
}

func (a *agent) locations() map[node.Source]string {
	places := map[node.Source]string{node.SourceAPI: "the node API"}
	if a.cfg.Sources.StaticPodPath != "" {
		places[node.SourceFile] = a.cfg.Sources.StaticPodPath
	}
	if a.cfg.Sources.URL != "" {
		places[node.SourceURL] = a.cfg.Sources.URL
	}
	return places
}

func (a *agent) intake(source node.Source) intake.Intake {
	return intake.Intake{
		Store: a.state.Store, Source: source, Offer: a.offers.Read, Present: a.present, Storage: a.keeper(),
		NewUID: uuid.NewUUID, Sources: a.locations(), Preempted: a.preempted,
	}
}

// keeper decides what claims are bound to.
func (a *agent) keeper() storage.Keeper {
	return storage.Keeper{
		Name: a.cfg.NodeName, Labels: func() map[string]string { return a.offers.Read().Labels }, Dir: a.cfg.Dirs.LocalVolumes(), NewUID: uuid.NewUUID,
	}
}

// run serves and reconciles until the context ends. Pods keep running.
func (a *agent) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	looked := a.work(ctx, group)
	group.Go(func() error {
		if !await(ctx, looked, a.vitals.Looked()) { // else readers would be told that running pods are not ready
			return nil
		}
		return a.serve(ctx)
	})
	a.log.Info("started", "node", a.cfg.NodeName, "version", version, "runtime", a.cfg.Runtime.Endpoint)
	return group.Wait()
}

// work runs the sources and the reconciler in the group. The channel is closed
// once the runtime was looked at.
func (a *agent) work(ctx context.Context, group *errgroup.Group) <-chan struct{} {
	if a.own != nil {
		group.Go(func() error { return a.own.Run(ctx) })
	}
	group.Go(func() error {
		a.vitals.Run(ctx)
		return nil
	})
	for _, s := range a.origins {
		group.Go(func() error {
			if !await(ctx, a.vitals.Looked()) { // else pods would be taken in by a node that is short of something
				return nil
			}
			return s.Run(ctx)
		})
	}
	if err := a.files.Logs.Sweep(); err != nil {
		a.log.Warn("links to logs that are gone may be left", "err", err)
	}
	prober := a.prober
	r := reconciler.New(reconciler.Config{
		Act: a.act(prober), Tracer: a.tracing.Steps, Counts: a.counts,
		Prober: prober, Events: a.state.Events, Sources: a.sources, Site: a.site, Pool: assign.NewPool(a.offers.Read().Assign), Offers: &a.offers, Log: a.log,
		Relist: relist, Starts: sideways(),
	})
	a.alive = r.Alive
	group.Go(func() error {
		defer prober.Close()
		return r.Run(ctx)
	})
	group.Go(func() error {
		a.supervisor.Watch(ctx, r.Alive, a.log)
		return nil
	})
	group.Go(func() error { return a.ownOffer(ctx) })
	if a.cgroups != nil {
		group.Go(func() error {
			a.cgroups.Follow(ctx, a.offers.Changed)
			return nil
		})
	}
	group.Go(func() error {
		a.files.Rotate(ctx, a.cfg.Logs, a.state.Store.Views, a.runtime.ReopenLog)
		return nil
	})
	group.Go(func() error { return a.tracing.Run(ctx) })
	group.Go(func() error {
		a.counts.Watch(ctx, a.state.Events, a.state.Store.View)
		return nil
	})
	group.Go(func() error {
		a.collector.Run(ctx)
		return nil
	})
	if evictor := a.newEvictor(); a.cfg.HoldToDisk {
		group.Go(func() error {
			evictor.Run(ctx)
			return nil
		})
	}
	return r.Looked()
}

// await waits for looks at what may hang, and no longer than a start may take. It says whether to go on.
func await(ctx context.Context, looks ...<-chan struct{}) bool {
	enough := time.NewTimer(firstLook)
	defer enough.Stop()
	for _, looked := range looks {
		select {
		case <-looked:
		case <-enough.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (a *agent) act(hooks reconciler.Hooks) reconciler.Act {
	act := reconciler.Act{
		Store: a.state.Store, Runtime: a.runtime, Images: a.puller, Hooks: hooks, Logs: a.files,
		Volumes: a.volumes, Storage: a.keeper(), Clock: time.Now,
		Freed: func(tx *store.Tx) { a.intake("").Readmit(tx, time.Now()) },
	}
	if a.cgroups != nil {
		act.Cgroups = a.cgroups
	}
	return act
}

// podSources are the origins of pods besides the API.
func (a *agent) podSources() ([]podSource, error) {
	s := a.cfg.Sources
	sink := source.Sink{
		Intake: a.intake(""), Board: a.sources, Event: a.state.Events.Add,
	}
	var found []podSource
	if s.StaticPodPath != "" {
		found = append(found, source.NewFile(source.FileConfig{Path: s.StaticPodPath, Poll: s.FileCheck, Sink: sink}))
	}
	if s.URL != "" {
		url, err := source.NewURL(source.URLConfig{URL: s.URL, Header: s.URLHeader, Poll: s.HTTPCheck, Sink: sink})
		if err != nil {
			return nil, err
		}
		found = append(found, url)
	}
	return found, nil
}

// podSource delivers pods until its context ends.
type podSource interface {
	Run(context.Context) error
}

// limitsSwap reports whether the kernel can hold containers to a part of the swap. It looks when a container is
// made: before, no cgroup may be there that could tell.
func (a *agent) limitsSwap() bool {
	return a.machine.cgroups.Version == 2 && a.machine.cgroups.LimitsSwap()
}
