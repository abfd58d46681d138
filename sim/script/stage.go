package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/intake"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/reconciler/decide"
	"nodal/reconciler/evict"
	"nodal/sim"
)

// stage is one pod with its machine, and the agent between them.
type stage struct {
	now     time.Time
	key     node.Key
	machine *sim.Machine
	uids    int
	journal journal
	store   *store.Store
	events  *store.Events
	intake  intake.Intake
	track   *reconciler.Track // nil while the key has no owner
	mark    node.Mark
	flight  []flying // oldest first
	cgroups bool
	shared  string // CPUs that containers without CPUs of their own may use
	relief  *evict.Relief
	lacks   string            // the signal that the node is below the threshold of; empty for none
	least   resource.Quantity // that has to be left of it
	beyond  []health.Beyond   // what the node cannot meet
	scarce  bool              // finished pods give up their containers
	auto    bool              // every action is answered as soon as it begins
	exits   []exit
	wake    time.Time
	old     *look
	lines   []string // the output of the present command
	told    string   // the last line printed about the status
	asked   string   // the last line printed about probes
}

// flying is an action in flight, with the pod for which it began.
type flying struct {
	node.Action
	pod *node.Pod
	got *node.Observed
}

// exit is the future end of a container.
type exit struct {
	at   time.Time
	name string
	code int32
}

// look is an observation in flight.
type look struct {
	seen *node.Observed
	mark node.Mark
}

func newStage() (*stage, error) {
	s := &stage{
		now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC),
		key: node.Key{Namespace: "default", Name: "web"}, journal: journal{},
	}
	s.machine = sim.NewMachine(func() time.Time { return s.now })
	return s, s.boot()
}

// boot starts an agent: it has its journal, and has not looked yet.
func (s *stage) boot() error {
	clock, err := store.OpenClock(s.journal, s.journal.records())
	if err != nil {
		return err
	}
	s.store, s.events = store.New(s.journal, clock), store.NewEvents(clock)
	if err := errors.Join(s.store.Restore(s.journal.records())...); err != nil {
		return err
	}
	s.intake = intake.Intake{Store: s.store, Source: node.SourceAPI, NewUID: s.newUID, Storage: s.keeper()}
	s.track, s.flight, s.relief, s.scarce = nil, nil, s.newRelief(), false
	if view, ok := s.store.View(s.key); ok {
		s.track = reconciler.NewTrack(view.Slot, nil, false)
	}
	return nil
}

func (s *stage) newUID() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("u%d", s.uids))
}

func (s *stage) act() reconciler.Act {
	rest := others{s}
	return reconciler.Act{
		Store: s.store, Runtime: s.machine, Images: s.machine, Hooks: rest, Logs: rest, Cgroups: cgroups{}, Volumes: rest,
		Storage: s.keeper(), Clock: func() time.Time { return s.now },
	}
}

func (s *stage) site() node.Site {
	return node.Site{NodeName: "here", Runtime: "sim", BackoffMax: node.DefaultBackoffMax, Cgroups: s.cgroups, Shared: s.shared}
}

func (s *stage) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// turns bounds the turns between two commands, far above any scenario's need.
const turns = 200

// settle runs turns until nothing is left to do without an event from outside.
func (s *stage) settle() error {
	for range turns {
		s.intend()
		if s.track == nil {
			return nil
		}
		turn := s.track.Next(decide.Input{Site: s.site(), Scarce: s.scarce, Now: s.now})
		if turn.Observe {
			s.look()
			continue
		}
		s.wake = turn.Wake
		for _, a := range turn.Actions {
			s.begin(a)
		}
		if len(turn.Cancel) > 0 {
			s.cancel(func(f flying) bool { return slices.Contains(turn.Cancel, f.Target()) })
			continue
		}
		if s.auto && len(s.flight) > 0 {
			if err := s.answer(s.flight[0], nil); err != nil {
				return err
			}
			continue
		}
		s.tell(turn)
		return nil
	}
	return errors.New("the agent does not come to rest")
}

// intend hands the store's slot to the track.
func (s *stage) intend() {
	view, ok := s.store.View(s.key)
	switch {
	case !ok && s.track != nil:
		s.track, s.wake = nil, time.Time{}
		s.say("gone")
	case !ok:
	case s.track == nil:
		s.track = reconciler.NewTrack(view.Slot, s.seen(), true)
	case s.track.Slot() != view.Slot:
		if obsolete := s.track.Intend(view.Slot); obsolete != nil {
			s.cancel(func(f flying) bool { return obsolete(f.Action) })
		}
	}
	if s.track != nil {
		s.track.Supply(s.store.Revisions(node.ObjectRefs(s.track.Slot().Pod.Object)))
	}
}

// cancel gives up the obsolete actions in flight.
func (s *stage) cancel(obsolete func(flying) bool) {
	for _, f := range slices.Clone(s.flight) {
		if obsolete(f) {
			s.say("x %s", f)
			s.finish(f, node.Result{}, context.Canceled)
		}
	}
}

func (s *stage) look() {
	s.mark++
	s.say("look")
	s.track.See(s.seen(), s.mark, s.now)
}

func (s *stage) seen() *node.Observed {
	all, err := s.machine.List(context.Background(), &s.key)
	if seen := all[s.key]; err == nil && seen != nil {
		return seen
	}
	return &node.Observed{}
}

func (s *stage) begin(a node.Action) {
	s.say("> %s", a)
	s.track.Begin(a)
	s.flight = append(s.flight, flying{a, s.track.Slot().Pod, s.track.Got()})
}

// answer has the effect of an action, and returns its result or the failure to the agent.
func (s *stage) answer(f flying, failure error) error {
	result, err := s.act().Do(context.Background(), s.key, f.pod, f.got, f.Action)
	if err != nil && !errors.Is(err, node.ErrNotFound) {
		return fmt.Errorf("%s: %w", f.Action, err)
	}
	if failure != nil {
		result, err = node.Result{}, failure
	}
	s.finish(f, result, err)
	return nil
}

func (s *stage) finish(f flying, result node.Result, err error) {
	s.flight = slices.DeleteFunc(s.flight, func(o flying) bool { return o.Target() == f.Target() })
	s.mark++
	s.track.Done(reconciler.Outcome{Action: f.Action, Result: result, Err: err, Mark: s.mark, Now: s.now})
}

// flying returns the actions in flight whose text begins with text.
func (s *stage) flying(text string) []flying {
	var found []flying
	for _, f := range s.flight {
		if strings.HasPrefix(f.String(), text) {
			found = append(found, f)
		}
	}
	return found
}
