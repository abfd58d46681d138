package reload

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nodal/agent/config"
	"nodal/host/configfile"
	"nodal/node"
	"nodal/server"
)

// The reasons of the events.
const (
	reloaded = "ConfigReloaded"
	waits    = "ConfigNeedsRestart"
	rejected = "ConfigRejected"
)

// A Taker readies a part of the agent for the next configuration. It returns a function that puts it in force, or why the
// part cannot take it. All parts are ready before the first uses it.
type Taker func(running, next *config.Config) (use func(), err error)

// Config holds what a Keeper needs.
type Config struct {
	Start  *config.Config
	Show   func(*config.Config) (server.Configured, error) // to readers of the API
	Report func(node.Event)
	Failed func(bool) // counts whether the files are rejected
	Clock  func() time.Time
	Log    *slog.Logger
}

// Keeper owns the running configuration. Its methods may be called from any goroutine.
type Keeper struct {
	Config
	running atomic.Pointer[config.Config]
	changed node.Bell

	turn   sync.Mutex // held while the files are read and taken
	takers []Taker

	mu    sync.Mutex
	shown server.Configured
}

var _ server.Configuration = (*Keeper)(nil)

// New returns the keeper of the configuration with which the agent starts.
func New(c Config) (*Keeper, error) {
	k := &Keeper{Config: c}
	k.running.Store(c.Start)
	return k, k.show(func(s *server.Configured) { s.Files, s.ReadAt = names(c.Start.Files()), c.Clock() })
}

// Running returns the configuration that is in force. It is shared: do not change it.
func (k *Keeper) Running() *config.Config { return k.running.Load() }

// Read returns what readers of the API see.
func (k *Keeper) Read() server.Configured {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown
}

// Changed returns a channel that is closed when Read returns something else.
func (k *Keeper) Changed() <-chan struct{} { return k.changed.Heard() }

// Join adds parts that are asked about the next configuration.
func (k *Keeper) Join(takers ...Taker) {
	k.turn.Lock()
	defer k.turn.Unlock()
	k.takers = append(k.takers, takers...)
}

// Run reads the files again whenever they change or a signal asks for it, until the context ends.
func (k *Keeper) Run(ctx context.Context, asked <-chan os.Signal) {
	changed := make(chan struct{}, 1)
	var group sync.WaitGroup
	defer group.Wait()
	if f := k.Start.Files(); f != (config.Files{}) {
		group.Go(func() {
			watched(f).Watch(ctx, func() {
				select {
				case changed <- struct{}{}:
				default: // the reading that is due sees this change too
				}
			}, k.Log)
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			k.Reload(true)
		case <-changed:
			k.Reload(false)
		}
	}
}

// watched returns the files to watch.
func watched(f config.Files) configfile.Files {
	w := configfile.Files{Dir: f.Dir, Pattern: "*" + config.DropInSuffix}
	for _, path := range []string{f.Config, f.Labels} {
		if path != "" {
			w.Paths = append(w.Paths, path)
		}
	}
	return w
}

func names(f config.Files) []string {
	return slices.DeleteFunc([]string{f.Config, f.Dir, f.Labels}, func(name string) bool { return name == "" })
}

// Reload reads the files and puts those values in force that a running node takes. If it was asked for, it tells the
// outcome even if nothing has changed.
func (k *Keeper) Reload(asked bool) {
	k.turn.Lock()
	defer k.turn.Unlock()
	before := k.Read()
	found, err := k.take()
	if err != nil {
		k.reject(err, asked || before.Fault != err.Error())
		return
	}
	taken, waiting := split(found)
	failed := k.show(func(s *server.Configured) {
		s.ReadAt, s.Fault, s.Waiting = k.Clock(), "", waiting
		if len(taken) > 0 {
			s.TakenAt, s.Taken = k.Clock(), nil
			for _, d := range taken {
				s.Taken = append(s.Taken, d.Setting)
			}
		}
	})
	if failed != nil {
		k.Log.Error("cannot show the configuration", "err", failed)
	}
	k.Failed(false)
	for _, e := range tell(before, taken, waiting, asked) {
		k.report(e)
	}
	if len(taken)+len(waiting) > 0 {
		k.Log.Info("the configuration files have changed", "taken", len(taken), "needRestart", len(waiting))
	}
}

// take reads the files and takes what can be taken. It does all of it or nothing.
func (k *Keeper) take() (found []config.Difference, err error) {
	running := k.Running()
	wanted, err := running.Reread()
	if err != nil {
		return nil, err
	}
	if found, err = running.Differences(wanted); err != nil {
		return nil, err
	}
	next, err := running.Take(wanted)
	if err != nil {
		return nil, err
	}
	var uses []func()
	for _, ready := range k.takers {
		use, err := ready(running, next)
		if err != nil {
			return nil, err
		}
		if use != nil {
			uses = append(uses, use)
		}
	}
	k.running.Store(next)
	for _, use := range uses {
		use()
	}
	return found, nil
}

// reject keeps what is in force, and says why.
func (k *Keeper) reject(err error, news bool) {
	if failed := k.show(func(s *server.Configured) { s.ReadAt, s.Fault = k.Clock(), err.Error() }); failed != nil {
		k.Log.Error("cannot show the configuration", "err", failed)
	}
	k.Failed(true)
	if news {
		k.Log.Error("the configuration files are rejected; what was in force stays", "err", err)
		k.report(event{warning: true, reason: rejected, message: "what was in force stays: " + err.Error()})
	}
}

// show changes what readers see, and rings if they may see something else.
func (k *Keeper) show(change func(*server.Configured)) error {
	present, err := k.Show(k.Running())
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shown.Settings, k.shown.Warnings, k.shown.Configz = present.Settings, present.Warnings, present.Configz
	change(&k.shown)
	k.changed.Ring()
	return nil
}

func (k *Keeper) report(e event) {
	k.Report(node.Event{Time: k.Clock(), Warning: e.warning, Reason: e.reason, Message: e.message})
}

// split returns which settings are taken, and which wait for a restart.
func split(found []config.Difference) (taken []config.Difference, waiting []server.Waiting) {
	for _, d := range found {
		if d.TakenBy != "" {
			taken = append(taken, d)
		} else {
			waiting = append(waiting, server.Waiting{Setting: d.Setting, Running: d.Running, Wanted: d.Wanted})
		}
	}
	return taken, waiting
}

// event is one event of the node.
type event struct {
	warning         bool
	reason, message string
}

// tell returns the events of files that are not rejected. before is what was shown until then.
func tell(before server.Configured, taken []config.Difference, waiting []server.Waiting, asked bool) (all []event) {
	var texts []string
	for _, d := range taken {
		texts = append(texts, fmt.Sprintf("%s is %s now and was %s", d.Setting, short(d.Wanted), short(d.Running)))
	}
	same := slices.EqualFunc(before.Waiting, waiting, func(a, b server.Waiting) bool {
		return a.Setting == b.Setting && string(a.Wanted) == string(b.Wanted)
	})
	if len(taken) == 0 && before.Fault != "" {
		texts = append(texts, "the files are good again")
	}
	if len(taken) == 0 && len(waiting) == 0 && !same {
		texts = append(texts, "no setting waits for a restart any more")
	}
	if len(texts) == 0 && len(waiting) == 0 && asked {
		texts = append(texts, "the files hold what is in force")
	}
	if len(texts) > 0 {
		all = append(all, event{reason: reloaded, message: strings.Join(texts, "; ")})
	}
	if len(waiting) > 0 && (!same || asked) {
		texts = nil
		for _, w := range waiting {
			texts = append(texts, fmt.Sprintf("%s stays %s, and the files want %s", w.Setting, short(w.Running), short(w.Wanted)))
		}
		all = append(all, event{warning: true, reason: waits, message: "until the next start " + strings.Join(texts, "; ")})
	}
	return all
}

// longest bounds a value in an event. GET /v1/node/config has all of it.
const longest = 120

func short(value []byte) string {
	if len(value) > longest {
		return string(value[:longest]) + "..."
	}
	return string(value)
}
