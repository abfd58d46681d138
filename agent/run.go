package agent

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// run serves and reconciles until the context ends.
func run(ctx context.Context, o Options, f facts, m memory, r runtime, p parts) error {
	api, err := newAPI(o, f, m, r, p)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	work(ctx, group, tasks(o, f, m, r, p), p)
	group.Go(func() error {
		// Otherwise readers would be told that running pods are not ready.
		if !await(ctx, p.reconciler.Looked(), p.vitals.Looked()) {
			return nil
		}
		return api.serve(ctx)
	})
	return group.Wait()
}

// work runs the sources of pods and the tasks in the group.
func work(ctx context.Context, group *errgroup.Group, tasks []task, p parts) {
	for _, t := range tasks {
		group.Go(func() error { return t(ctx) })
	}
	for _, s := range p.origins {
		group.Go(func() error {
			// Otherwise pods would be taken in by a node that is short of something.
			if !await(ctx, p.vitals.Looked()) {
				return nil
			}
			return s.Run(ctx)
		})
	}
}

// task runs until its context ends.
type task func(context.Context) error

// steady is a task that cannot fail.
func steady(run func(context.Context)) task {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}

// tasks returns the tasks that run beside the sources of pods and the API.
func tasks(o Options, f facts, m memory, r runtime, p parts) []task {
	all := []task{
		func(ctx context.Context) error {
			defer p.prober.Close()
			return p.reconciler.Run(ctx)
		},
		f.tracing.Run,
		steady(p.vitals.Run),
		steady(p.collector.Run),
		steady(func(ctx context.Context) { followOffer(ctx, f.owner, o.Log) }),
		steady(func(ctx context.Context) { f.supervisor.Watch(ctx, p.reconciler.Alive, o.Log) }),
		steady(func(ctx context.Context) { m.counts.Watch(ctx, m.state.Events, m.state.Store.View) }),
		steady(func(ctx context.Context) {
			m.files.Rotate(ctx, o.Config.Pods.Logs, m.state.Store.Views, r.client.ReopenLog)
		}),
	}
	if r.own != nil {
		all = append(all, r.own.Run)
	}
	if r.cgroups != nil {
		all = append(all, steady(func(ctx context.Context) { r.cgroups.Follow(ctx, f.offers.Changed) }))
	}
	if o.Config.Pods.HoldToDisk {
		all = append(all, steady(newEvictor(o, m, p.meter).Run))
	}
	return all
}
