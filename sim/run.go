package sim

import (
	"math/rand/v2"
	"time"

	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// Bug is a mistake planted in the driver, to see that it is found.
type Bug uint8

// The bugs that the invariants have to catch.
const (
	NoBug         Bug = iota
	StaleSnapshot     // decide on a look that began before the last effect
	SweepEarly        // remove what is unknown before every source has delivered
	ForgetTally       // restart without counting
	MissWakes         // take a look for news of what happened after it began
	HastyHooks        // take a hook that has begun for one that has ended
	NoGrace           // leave nothing that ends the time that it may take
	AllAtOnce         // ask sidecars to end together with what they serve
	HastyRemoval      // take files whose removal has begun for removed
	LinkAtStart       // link the logs of runs that are started, and of no run that is found
	KeepLinks         // remove runs and leave the links to their logs
)

// Options chooses a run.
type Options struct {
	Seed    uint64
	Without []Kind // faults that do not happen
	Bug     Bug
	Trace   bool
}

// Report is the result of a run.
type Report struct {
	Failure error // the invariant that was broken
	Trace   []string
	Met     met // what has happened, in words
	Actions int
	Virtual time.Duration
}

// The limits of a run: how long faults strike, by when all is well afterwards,
// and for how long it then is watched.
const (
	strife      = 3 * time.Minute
	recovery    = 30 * time.Minute
	rest        = 15 * time.Second
	liveliness  = 90 * time.Second
	restCheck   = 2 * time.Second
	mostActions = 20_000
)

// simulation is one run: a world, one agent after the other, and clients.
type simulation struct {
	*world
	faults  *faults
	deaths  *rand.Rand // of agents around certain calls
	journal *journal
	clients *clients
	agent   *agent // nil while none is alive
	events  bool   // the runtime tells all that happens; else it has to be asked
	deaf    bool   // no connection is there to hear it
	calmed  bool   // faults are over, and pods keep what they need
	actions int    // of agents that are dead
}

// Run plays one seed.
func Run(o Options) Report {
	s := newSimulation(o)
	s.boot(o.Bug)
	s.strive()
	s.runFor(strife)
	s.calm()
	s.settleDown()
	return Report{Failure: s.witness.failure, Trace: s.trace.lines, Met: s.met, Actions: s.acted(), Virtual: s.now}
}

func newSimulation(o Options) *simulation {
	random := rand.New(rand.NewPCG(o.Seed, 1))
	clock := &schedule{}
	story := &trace{schedule: clock, on: o.Trace}
	f := newFaults(random, o.Without)
	w := newWorld(clock, random, newWitness(), story)
	w.witness.jumps = f.rate[Jump] > 0
	s := &simulation{
		world: w, faults: f, deaths: rand.New(rand.NewPCG(o.Seed, 2)), journal: newJournal(), clients: newClients(w, f),
		events: random.IntN(2) == 0,
	}
	s.changed = s.tell
	s.around, s.journal.crash = s.dieAround, s.crashPoint
	s.addStray()
	return s
}

// step lets one thing happen and says whether to go on.
func (s *simulation) step() bool {
	if s.witness.failure != nil || !s.schedule.step() {
		return false
	}
	if s.journal.crashed {
		s.crash("in a commit")
	}
	if s.acted() > mostActions {
		s.witness.failf("more than %d actions: nothing comes to rest", mostActions)
	}
	return true
}

func (s *simulation) acted() int {
	if s.agent == nil {
		return s.actions
	}
	return s.actions + s.agent.begun
}

// tell passes on a runtime's event. Where the agent looks every second anyway
// it may get lost.
func (s *simulation) tell(key node.Key) {
	if s.deaf || s.agent == nil || !s.events && s.rand.IntN(3) == 0 {
		return
	}
	a := s.agent
	s.after(s.faults.between(0, 20*time.Millisecond), func() { a.wake(key) })
}

func (s *simulation) crashPoint() crashPoint {
	if s.agent == nil || !s.faults.strike(Commit) {
		return goesOn
	}
	return beforeDurable + crashPoint(s.rand.IntN(2))
}

// boot starts an agent on what the journal kept.
func (s *simulation) boot(bug Bug) {
	s.witness.ready = false
	a, err := newAgent(s.world, s.faults, s.journal, bug)
	if err != nil {
		s.witness.failf("start an agent: %w", err)
		return
	}
	s.agent = a
	s.trace.addf("agent: starts")
	s.recollect()
	if s.events {
		a.relist()
	} else {
		a.poll()
	}
	s.after(reconciler.SafetyRelist, a.watchOver)
	s.after(evict.MeasureEvery, a.measure)
	if s.calmed {
		s.clients.provide(a)
	}
	s.after(s.faults.between(0, 5*time.Second), func() { s.clients.deliver(a) })
}

// recollect adds to the ledger what the agent's journal kept of unanswered operations. What was
// acknowledged must be there.
func (s *simulation) recollect() {
	views, _ := s.agent.store.Views()
	for _, v := range views {
		s.witness.acknowledge(v.Key, v.Slot)
	}
}

// crash ends the agent; after a while there is another one.
func (s *simulation) crash(how string) {
	if s.agent == nil {
		return
	}
	dead := s.agent
	s.trace.addf("agent: dies %s", how)
	dead.dead = true
	s.witness.forgetUnnoted(dead)
	s.meetDeath(dead)
	s.agent, s.actions = nil, s.actions+dead.begun
	s.orphan(dead, s.faults)
	dead.errands = nil // they die with it
	if s.faults.strike(Record) {
		s.loseRecord()
	}
	s.after(s.faults.between(10*time.Millisecond, 10*time.Second), func() { s.boot(dead.bug) })
}

// strive has clients and faults at work until the strife is over.
func (s *simulation) strive() {
	s.now = 0
	s.recur(8*time.Second, func() {
		if s.agent != nil {
			s.clients.act(s.agent)
		}
	})
	s.recur(time.Second, s.probeOne)
	for _, blow := range []struct {
		kind Kind
		mean time.Duration
		fall func()
	}{
		{Exit, 10 * time.Second, s.exitOne},
		{Sick, 10 * time.Second, s.sickenOne},
		{Die, 20 * time.Second, s.dieOne},
		{Vanish, 20 * time.Second, s.vanishOne},
		{Outage, 30 * time.Second, s.outage},
		{Full, 30 * time.Second, s.fill},
		{Gorge, 20 * time.Second, s.gorgeOne},
		{Jump, 30 * time.Second, s.jump},
		{Crash, 15 * time.Second, func() { s.crash("") }},
	} {
		s.recur(blow.mean, func() {
			if s.faults.strike(blow.kind) {
				blow.fall()
			}
		})
	}
}

// recur has something happen again and again, at random.
func (s *simulation) recur(mean time.Duration, do func()) {
	s.after(time.Duration(s.rand.ExpFloat64()*float64(mean)), func() {
		if s.now < strife {
			do()
			s.recur(mean, do)
		}
	})
}

// calm ends all faults; calls that are on their way keep theirs.
func (s *simulation) calm() {
	s.trace.addf("calm")
	s.faults.end()
	s.journal.full = false
	s.down = false
	s.calmed = true
	if s.agent != nil {
		s.clients.provide(s.agent)
		s.agent.turn()
	}
	s.reconnect()
	s.heal()
}

// settleDown waits until all is as it should be, and that it stays so. Where
// containers end by themselves it has to become so again.
func (s *simulation) settleDown() {
	s.settle()
	if s.restless() {
		s.runFor(liveliness)
		s.settle()
		return
	}
	s.restartAtRest()
	before := s.acted()
	for end := s.now + rest; s.now < end && s.witness.failure == nil; {
		s.runFor(restCheck)
		if why := s.unsettled(); why != nil {
			s.witness.failf("what was settled is not any more: %w", why)
		}
	}
	if acted := s.acted() - before; acted > 0 {
		s.witness.failf("%d actions though nothing happened", acted)
	}
}

func (s *simulation) settle() {
	deadline := s.now + recovery
	for s.witness.failure == nil {
		s.runFor(restCheck)
		why := s.unsettled()
		if why == nil {
			return
		}
		if s.now > deadline {
			s.witness.failf("all was calm for %s and still: %w", recovery, why)
		}
	}
}

func (s *simulation) runFor(d time.Duration) {
	due := false
	s.after(d, func() { due = true })
	for !due && s.step() {
	}
}

// addStray leaves a pod without a record in the runtime.
func (s *simulation) addStray() {
	if s.rand.IntN(3) > 0 {
		return
	}
	key := node.Key{Namespace: "default", Name: apiNames()[0]}
	if s.rand.IntN(2) == 0 {
		key.Name = "stray"
	}
	box := &sandbox{id: s.newID("s"), key: key, uid: "stray", ready: true, created: s.clock()}
	c := &container{
		id: s.newID("c"), sandbox: box, key: key, uid: "stray", name: "a", image: "sim/slow:1",
		hash: "old", created: s.clock(), grace: 10 * time.Second,
	}
	s.reserved[sandboxName(box.uid, 0)], s.reserved[containerName(c.uid, c.name, 0)] = true, true
	s.sandboxes, s.containers = append(s.sandboxes, box), append(s.containers, c)
	s.volumes["stray"] = map[string]string{"data": ""}
	s.begin(c)
}
