package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"

	"nodal/agent/config"
	"nodal/server"
	"nodal/server/auth"
)

// Options hold the settings and the surroundings of the agent.
type Options struct {
	Config  *config.Config
	Version string // of the agent
	Log     *slog.Logger
	Level   server.Verbosity // of the log; nil if it cannot be changed
	Reload  <-chan os.Signal // asks for the configuration files to be read again; nil if nothing does
	Out     io.Writer        // for the report of a run that starts pods once
	Hurry   <-chan struct{}  // closed when a stop that waits for pods has to end at once; nil means never
}

// StartError is the error of an agent that could not start.
type StartError struct{ Err error }

func (e StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e StartError) Unwrap() error { return e.Err }

// Run runs the agent until the context ends. Pods keep running.
func Run(ctx context.Context, o Options) (err error) {
	told := ctx // by a signal
	ctx, release, err := holdLock(ctx, o)
	if err != nil {
		return StartError{err}
	}
	defer func() { err = errors.Join(err, release()) }()
	forbidCoreDumps(o.Log)
	limitMemory(os.DirFS("/"), o.Log)
	f, err := look(ctx, o)
	if err != nil {
		return StartError{err}
	}
	m, err := open(ctx, o, f)
	if err != nil {
		return StartError{err}
	}
	r, guard, err := prepare(ctx, o, f, m)
	defer func() { err = errors.Join(err, r.close(o.Config.Runtime.StopOnExit), m.state.Close()) }()
	if err != nil {
		return StartError{err}
	}
	p, err := build(o, f, m, r, guard)
	if err != nil {
		return StartError{err}
	}
	if err := m.files.Logs.SweepLinks(); err != nil {
		o.Log.Warn("cannot remove links to deleted logs", "err", err)
	}
	all := tasks(o, f, m, r, p)
	if o.Config.Sources.Once {
		return once(ctx, all, p.sources.Ready(), reader{m.state.Store, p.site}, o.Out)
	}
	a, err := expose(o, f, m, r, p)
	if err != nil {
		return StartError{err}
	}
	ctx, stop := ctx, context.CancelFunc(func() {})
	if o.Config.Shutdown.OnSIGTERM {
		ctx, stop = lingering(ctx, told, p.machine, o.Hurry)
	}
	defer stop()
	o.Log.Info("started", "node", o.Config.Node.Name, "version", o.Version, "runtime", r.endpoint)
	return run(ctx, all, a.serve, p.reconciler.Looked(), p.vitals.Looked())
}

// prepare reaches the runtime and makes the guard of the API side by side.
// A run that starts pods once has no guard: it serves nothing.
func prepare(
	ctx context.Context, o Options, f facts, m memory,
) (r runtime, guard *auth.Authenticator, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		r, err = reach(ctx, o, f, m)
		return err
	})
	if !o.Config.Sources.Once {
		group.Go(func() (err error) {
			guard, err = f.identity.guard(o.Config.Auth, o.Config.Listen.Socket, guarding(f, m))
			return err
		})
	}
	err = group.Wait()
	return r, guard, err
}
