package sim

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// Bug is a mistake planted in the driver; an invariant has to find it.
type Bug string

// The bugs that can be planted, besides those of realms.
const (
	NoBug          Bug = ""
	StaleSnapshot  Bug = "deciding on a look that began before the last effect"
	SweepEarly     Bug = "removing what is unknown before every source has delivered"
	ForgetTally    Bug = "restarting without counting"
	MissWakes      Bug = "taking a look as newer than what happened after it began"
	HastyHooks     Bug = "treating a hook that has begun as ended"
	NoGrace        Bug = "ending containers without a grace period"
	AllAtOnce      Bug = "stopping sidecars together with the containers that they serve"
	LinkAtStart    Bug = "linking the logs of runs that are started, but not of runs that are found"
	KeepLinks      Bug = "removing runs and leaving the links to their logs"
	HastyCluster   Bug = "not waiting for the cluster to say which pods it wants"
	UnaskedCluster Bug = "removing pods that the cluster wants and has not posted yet"
	HomesFirst     Bug = "sweeping the directories of pods before their logs"
	ForgetGuard    Bug = "not asking how the memory of a container is guarded"
)

// Options selects a run.
type Options struct {
	Seed    uint64
	Without []Kind // faults that do not happen
	Bug     Bug
	Trace   bool
	Down    bool                        // the machine shuts down now and then
	Filed   bool                        // objects stand in files beside the static pods
	Guarded bool                        // every other agent has the kernel keep the memory of pods; none hands out CPUs
	Extra   func(*world, Options) realm // of a kind of asset that is not the node's; nil adds none
}

// Report holds the result of a run.
type Report struct {
	Failure error // the invariant that was broken
	Trace   []string
	Met     met // counts of the situations met, by name
	Actions int
	Virtual time.Duration
}

// The phases of a run: how long faults strike, how long the node has to recover, and how long it is
// watched after that.
const (
	strife      = 3 * time.Minute
	recovery    = 30 * time.Minute
	rest        = 15 * time.Second
	liveliness  = 90 * time.Second
	restCheck   = 2 * time.Second
	mostActions = 20_000
)

// simulation is one run: a world, clients, and one agent after another.
type simulation struct {
	*world
	faults  *faults
	deaths  *rand.Rand // decides which agents die around rare calls
	sweeps  *rand.Rand // decides which sweeps fail, or end with their agent
	journal *journal
	clients *clients
	cluster *cluster
	agent   *agent // nil while no agent is alive
	events  bool   // the runtime sends events; without them the agent polls
	deaf    bool   // the agent's event stream is broken
	calmed  bool   // faults are over, and clients keep the objects that pods need
	actions int    // actions of dead agents
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
	if w.guarded, w.blind = o.Guarded, o.Bug == ForgetGuard; w.guarded {
		w.offer.Assign = nil
	}
	w.realms = newRealms(w, f, o)
	w.scarcity, w.sequence = newScarcity(w, o), newSequence(o)
	w.descent, w.gadgets, w.tools = newDescent(w, o), newGadgets(w, o), newTools(w, o)
	w.witness.jumps = f.rate[Jump] > 0
	s := &simulation{
		world: w, faults: f, deaths: rand.New(rand.NewPCG(o.Seed, 2)),
		sweeps: rand.New(rand.NewPCG(o.Seed, 3)), journal: newJournal(), clients: newClients(w, f, o.Filed),
		events: random.IntN(2) == 0,
	}
	s.changed = s.tell
	w.descent.clients, w.descent.reboot = s.clients, s.rebootIn
	s.around, s.amid, s.journal.crash = s.dieAround, s.harmSweep, s.crashPoint
	s.addStray()
	s.joinCluster(o.Seed)
	return s
}

// step runs the next event, and reports whether to go on.
func (s *simulation) step() bool {
	if s.witness.failure != nil || !s.schedule.step() {
		return false
	}
	if s.journal.crashed {
		s.crash("in a commit")
	}
	if s.acted() > mostActions {
		s.witness.failf("more than %d actions: the loop never rests", mostActions)
	}
	return true
}

func (s *simulation) acted() int {
	if s.agent == nil {
		return s.actions
	}
	return s.actions + s.agent.begun
}

// tell passes on an event of the runtime. It may lose one where the agent polls anyway.
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

// boot starts an agent with the records in the journal.
func (s *simulation) boot(bug Bug) {
	s.witness.files, s.witness.cluster = false, s.cluster.pod == nil
	a, err := newAgent(s.world, s.faults, s.journal, bug)
	if err != nil {
		s.witness.failf("start an agent: %w", err)
		return
	}
	s.agent = a
	s.trace.addf("agent: starts")
	a.waiting[node.SourceCluster] = s.cluster.pod != nil && bug != HastyCluster
	a.expect()
	s.descent.awake(a)
	s.recollect()
	s.clients.filed.recollect(a)
	if s.events {
		a.relist()
	} else {
		a.poll()
	}
	s.after(reconciler.SafetyRelist, a.watchOver)
	s.after(evict.MeasureEvery, a.measure)
	if s.scarcity.on {
		s.after(time.Second, a.relieve)
	}
	for _, r := range s.realms {
		r.boot(a)
	}
	if s.calmed {
		s.clients.provide(a)
	}
	s.after(s.faults.between(0, 5*time.Second), func() { s.clients.deliver(a) })
	s.cluster.await(a)
}

// recollect adds operations that were journalled but not answered to the ledger. Acknowledged ones
// must be in the journal.
func (s *simulation) recollect() {
	views, _ := s.agent.store.Views()
	for _, v := range views {
		s.witness.acknowledge(v.Key, v.Slot)
	}
}

// crash kills the agent. The next one starts after a while.
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
	dead.errands = nil // errands die with the agent
	if s.faults.strike(Record) {
		s.loseRecord()
	}
	s.after(s.faults.between(10*time.Millisecond, 10*time.Second), func() { s.boot(dead.bug) })
}

// strive runs clients and faults until the time for faults is over.
func (s *simulation) strive() {
	s.now = 0
	s.recur(8*time.Second, func() {
		if s.agent != nil {
			s.clients.act(s.agent)
		}
	})
	s.recur(time.Second, s.probeOne)
	for _, r := range s.realms {
		r.strive(func() *agent { return s.agent })
	}
	s.scarcity.strive()
	s.gadgets.strive()
	s.tools.strive()
	s.shutDown()
	s.clients.filed.strive(s)
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

// recur calls do again and again, at random intervals.
func (s *simulation) recur(mean time.Duration, do func()) {
	s.after(time.Duration(s.rand.ExpFloat64()*float64(mean)), func() {
		if s.now < strife {
			do()
			s.recur(mean, do)
		}
	})
}

// calm ends all faults. Calls in flight keep theirs.
func (s *simulation) calm() {
	s.trace.addf("calm")
	s.faults.end()
	for _, r := range s.realms {
		r.calm()
	}
	s.scarcity.calm()
	s.gadgets.calm()
	s.tools.calm()
	s.callOff(s.descent.round)
	s.journal.full = false
	s.down = false
	s.calmed = true
	if s.agent != nil {
		s.clients.provide(s.agent)
		s.agent.turn()
	}
	s.reconnect()
	s.heal()
	s.clients.filed.calm(s)
}

// settleDown waits until every promise is kept, and checks that this stays so. Where containers end
// by themselves, it has to become so again.
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
			s.witness.failf("all was at rest, and then: %w", why)
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

// addStray creates a pod in the runtime that has no record.
func (s *simulation) addStray() {
	if s.rand.IntN(3) > 0 {
		return
	}
	key := node.Key{Namespace: "default", Name: apiNames()[0]}
	if s.rand.IntN(2) == 0 {
		key.Name = "stray"
	}
	s.run(key, "stray", "old")
}

// run has a pod run that no record of the node shows.
func (s *simulation) run(key node.Key, uid types.UID, hash string) {
	box := &sandbox{id: s.newID("s"), key: key, uid: uid, ready: true, created: s.clock()}
	c := &container{
		id: s.newID("c"), sandbox: box, key: key, uid: uid, name: "a", image: "sim/slow:1",
		hash: hash, created: s.clock(), grace: 10 * time.Second,
		limits: limit.OfContainer(&corev1.Pod{}, &corev1.Container{}, limit.Rules{}),
	}
	s.reserved[sandboxName(box.uid, 0)], s.reserved[containerName(c.uid, c.name, 0)] = true, true
	s.sandboxes, s.containers = append(s.sandboxes, box), append(s.containers, c)
	s.volumes[uid] = map[string]string{"data": ""}
	s.links.dirs[uid], s.homes[uid] = true, true
	s.begin(c)
}
