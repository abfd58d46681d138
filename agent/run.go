package agent

import (
	"context"

	"golang.org/x/sync/errgroup"

	"nodal/agent/cgroups"
	"nodal/host/uevent"
)

// task runs until its context ends.
type task func(context.Context) error

// steady makes a task of a function that cannot fail.
func steady(run func(context.Context)) task {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}

// after delays a task until the looks are over, for firstLook at most. It skips the task if the context ends first.
func after(t task, looks ...<-chan struct{}) task {
	return func(ctx context.Context) error {
		if !await(ctx, looks...) {
			return nil
		}
		return t(ctx)
	}
}

// start runs the tasks in a group.
func start(ctx context.Context, group *errgroup.Group, tasks []task) {
	for _, t := range tasks {
		group.Go(func() error { return t(ctx) })
	}
}

// run runs the tasks until the context ends or one of them fails. It serves after the first looks: until then the
// API would show running pods as not ready.
func run(ctx context.Context, tasks []task, serve task, looks ...<-chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	start(ctx, group, tasks)
	start(ctx, group, []task{after(serve, looks...)})
	return group.Wait()
}

// tasks returns the tasks that run whether or not the API is served.
func tasks(o Options, f facts, m memory, r runtime, p parts) []task {
	notices := newNotices(f.cgroups, r.cgroups, o.Log)
	p.relief.Wakes, p.relief.Arm = notices.Wakes(), notices.arm
	all := []task{
		func(ctx context.Context) error {
			defer p.prober.Close()
			return p.reconciler.Run(ctx)
		},
		f.tracing.Run,
		steady(p.vitals.Run),
		steady(p.plugins.Run),
		steady(p.devices.Run),
		steady(f.specs.Run),
		steady(p.machine.Run),
		steady(func(ctx context.Context) { heedShutdown(ctx, p.machine, p.vitals) }),
		steady(watchShutdown(o.Config, p.machine, o.Log)),
		steady(m.state.KeepSealed),
		steady(m.state.KeepEvents),
		steady(p.shelf.Collector.Run),
		after(steady(p.logs.Run), p.reconciler.Looked()), // a log goes by what its run does
		steady(func(ctx context.Context) { followOffer(ctx, uevent.Watch, f.devices.Changed, f.owner.Run, o.Log) }),
		steady(func(ctx context.Context) { f.supervisor.Watch(ctx, p.reconciler.Alive, o.Log) }),
		steady(func(ctx context.Context) {
			m.counts.Watch(ctx, m.state.Events, m.state.Events.Began(), m.state.Store.View)
		}),
		steady(func(ctx context.Context) {
			m.files.Rotate(ctx, logLimits(p.config.Running), m.state.Store.Views, r.pods.ReopenLog)
		}),
	}
	all = append(all, steady(notices.run), after(steady(p.relief.Run), p.vitals.Looked(), p.reconciler.Looked()))
	if f.cluster != nil {
		all = append(all, after(steady(p.handover.run), p.reconciler.Looked()))
	}
	if p.past != nil {
		all = append(all, steady(p.past.Run))
	}
	if p.recall != nil {
		all = append(all, after(steady(p.recall.Run), p.vitals.Looked(), p.reconciler.Looked()))
	}
	for _, s := range p.origins { // they have to know first what the node is short of, and what runs
		all = append(all, after(s.Run, p.vitals.Looked(), p.reconciler.Looked()))
	}
	if f.kernel != nil { // the containers have to be known before a process of one is looked for
		tell := tellKills(f.kernel, m.state.Store.Views, m.state.Events.Add, o.Log)
		all = append(all, after(steady(tell), p.reconciler.Looked()))
	}
	if r.own != nil {
		all = append(all, func(ctx context.Context) error { return r.own.Run(ctx, p.reconciler.Looked()) })
	}
	if r.cgroups != nil {
		all = append(all, steady(func(ctx context.Context) { r.cgroups.Follow(ctx, f.offers.Changed) }))
	}
	if o.Config.Cgroups.System != "" {
		all = append(all, steady(func(ctx context.Context) { cgroups.Gather(ctx, o.Config.Cgroups, f.cgroups, o.Log) }))
	}
	if o.Config.Pods.HoldToDisk {
		all = append(all, steady(newEvictor(m.state, p.meter, m.counts.Evicted, o.Log).Run))
	}
	return all
}
