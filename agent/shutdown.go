package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"nodal/agent/config"
	"nodal/host/logind"
	"nodal/host/replace"
	"nodal/reconciler"
	"nodal/reconciler/shutdown"
)

var (
	_ logind.Machine  = (*shutdown.Machine)(nil)
	_ shutdown.Memory = shutdownTimes{}
)

// newMachine makes the part that ends the pods of a machine that shuts down.
func newMachine(o Options, m memory) *shutdown.Machine {
	return shutdown.New(shutdown.Config{
		Store: m.state.Store, Phases: o.Config.Shutdown.Phases, Memory: shutdownTimes{o.Config.Dirs.Shutdown(), o.Log},
		Report: m.state.Events.Add, Clock: time.Now, Log: o.Log,
	})
}

// heedShutdown has the node's conditions follow a shutdown.
func heedShutdown(ctx context.Context, m *shutdown.Machine, v *reconciler.Vitals) {
	for {
		changed := m.Changed()
		v.Heed()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// watchShutdown tells the machine's part how the machine is: as logind says if a shutdown has to wait for pods, and that
// it stays up otherwise. Then pods run again that the last shutdown has halted.
func watchShutdown(c *config.Config, m *shutdown.Machine, log *slog.Logger) func(context.Context) {
	if len(c.Shutdown.Phases) == 0 || c.Sources.Once {
		return func(context.Context) { m.StayUp() }
	}
	watcher := logind.New(logind.Config{DropIns: logind.DropIns, Delay: m.Total(), Machine: m, Log: log})
	return watcher.Run
}

// lingering returns a context that outlives the given one until the pods have ended, if that ends because told does: the
// signal is taken for a shutdown of the machine. It ends at once when hurry is closed.
func lingering(
	ctx, told context.Context, m *shutdown.Machine, hurry <-chan struct{},
) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-lasting.Done():
		}
		if told.Err() == nil || lasting.Err() != nil {
			return
		}
		select {
		case <-m.GoDown("SIGTERM"):
		case <-hurry:
		case <-lasting.Done():
		}
	}()
	return lasting, cancel
}

// shutdownTimes keeps in a file when the machine last shut down. It has upstream's name and form.
type shutdownTimes struct {
	file string
	log  *slog.Logger
}

// Load reads the file. What cannot be read counts as unknown: only metrics lack it.
func (s shutdownTimes) Load() (t shutdown.Times) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return t
	}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		s.log.Warn("cannot read when the machine last shut down", "file", s.file, "err", err)
	}
	return t
}

// Save writes the file.
func (s shutdownTimes) Save(t shutdown.Times) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return replace.File(s.file, text, 0o600)
}
