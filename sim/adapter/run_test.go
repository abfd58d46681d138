package adapter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/sim/cri"
)

// The phases of a run: how long faults strike, how long the last effects may take, how long the
// node has to recover, and how long it is watched after that.
const (
	strife   = 80 * time.Second
	calming  = 3*requestTimeout + mostLate + mostDelay
	recovery = 10 * time.Minute
	rest     = 10 * time.Second
	look     = 2 * time.Second
)

// options selects a run.
type options struct {
	seed  uint64
	bug   bug
	trace bool
}

// report holds the result of a run.
type report struct {
	failure error
	trace   []string
	met     map[string]int
}

// run is one node: a runtime, a disk, clients, and one agent after another.
type run struct {
	t       *testing.T
	rand    *rand.Rand
	bug     bug
	logs    string
	server  *cri.Server
	link    *cri.Link
	disk    *disk
	commits *deaths
	clients *clients
	witness *witness
	agent   *agent    // nil while no agent is alive
	rebirth time.Time // when the next agent starts
	back    time.Time // when the runtime comes back; zero while it is up

	unplugged bool // the runtime's network is down
}

// play plays one seed on the fake clock of a synctest bubble.
func play(t *testing.T, o options) (outcome report) {
	t.Helper()
	logs := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRun(t, o, logs)
		chosen := newFaults(o.seed, r.rand)
		r.witness.lies = chosen.lies()
		r.server.Inject(cri.Faults{Choose: chosen.choose})
		r.addStrangers()
		r.start()
		r.strive()
		chosen.end()
		r.calm()
		r.settleDown()
		r.end()
		outcome = report{failure: r.witness.verdict(), trace: r.witness.trace.lines, met: r.witness.met}
	})
	return outcome
}

func newRun(t *testing.T, o options, logs string) *run {
	random := rand.New(rand.NewPCG(o.seed, 1))
	server := cri.NewServer(cri.Config{PullAny: true, Legacy: random.IntN(4) == 0})
	r := &run{
		t: t, rand: random, bug: o.bug, logs: logs, server: server, link: server.Link(), disk: newDisk(),
		commits: &deaths{rand: rand.New(rand.NewPCG(o.seed, 2)), rate: []float64{0, 0.05}[random.IntN(2)]},
		witness: newWitness(server, &trace{on: o.trace, began: time.Now()}),
	}
	r.clients = &clients{run: r, posted: map[node.Key]*corev1.Pod{}}
	return r
}

// strive runs clients and blows until the time for faults is over.
func (r *run) strive() {
	blows := r.blows()
	for end := time.Now().Add(strife); time.Now().Before(end) && r.witness.verdict() == nil; {
		r.pass(time.Duration(r.rand.ExpFloat64() * float64(time.Second)))
		if r.rand.IntN(4) == 0 {
			r.clients.act()
		} else {
			blows[r.rand.IntN(len(blows))]()
		}
	}
}

// pass lets time go by. The witness checks what happened meanwhile, before clients or blows change
// anything.
func (r *run) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	r.witness.look(r.agent)
	if !r.back.IsZero() && !time.Now().Before(r.back) {
		r.witness.trace.addf("the runtime is up")
		r.back = time.Time{}
		r.server.Recover()
	}
	switch {
	case r.agent != nil && r.agent.session.over():
		r.crash("in a commit")
	case r.agent == nil && !time.Now().Before(r.rebirth):
		r.start()
	case r.agent != nil && !r.agent.told && r.rand.IntN(2) == 0:
		r.clients.deliver()
	}
}

// start starts an agent.
func (r *run) start() {
	r.witness.trace.addf("the agent starts")
	a, err := r.boot()
	if err != nil {
		r.witness.failf("%w", err)
		return
	}
	r.agent = a
}

// atRest names the death of an agent that has nothing to do any more.
const atRest = "at rest"

// crash ends the agent. The next one starts after a while.
func (r *run) crash(how string) {
	if r.agent == nil {
		return
	}
	r.witness.trace.addf("the agent dies %s", how)
	r.witness.meet("death " + how)
	if err := r.agent.kill(); err != nil {
		r.witness.failf("the agent ended with: %w", err)
	}
	synctest.Wait()
	r.witness.look(r.agent)
	if loses := r.rand.IntN(4) == 0; loses && (how != atRest || !r.robbedStatic()) {
		r.disk.lose(staticKey()) // its file brings it back
	}
	r.agent, r.rebirth = nil, time.Now().Add(between(r.rand, 10*time.Millisecond, 10*time.Second))
}

// robbedStatic reports whether a run of the static pod was removed by hand. Without its record too, nothing says any more
// that the pod has run, and it may run again.
func (r *run) robbedStatic() bool {
	l := r.witness.wanted[staticKey()]
	return l != nil && l.robbed
}

// calm ends all outages, and waits for the last effects.
func (r *run) calm() {
	r.witness.trace.addf("calm")
	r.commits.end()
	r.pass(time.Millisecond)
	r.server.SetReady(true, true)
	if !r.back.IsZero() {
		r.back = time.Time{}
		r.server.Recover()
	}
	if r.agent == nil {
		r.start()
	}
	r.clients.deliver()
	r.pass(calming)
}

// settleDown waits until every promise is kept, and checks that this stays so, also under another
// agent.
func (r *run) settleDown() {
	for end := time.Now().Add(recovery); ; {
		why := r.unsettled()
		if why == nil || r.witness.verdict() != nil {
			break
		}
		if time.Now().After(end) {
			r.witness.failf("all was calm for %s and still: %w", recovery, why)
		}
		r.pass(look)
	}
	if r.witness.verdict() != nil || r.restless() {
		return
	}
	before := len(r.server.Journal())
	r.crash(atRest)
	r.start()
	r.clients.deliver()
	r.pass(rest)
	if more := r.server.Journal()[before:]; len(more) > 0 {
		r.witness.failf("all was at rest, another agent took over and there was %q", fmt.Sprint(more[0]))
	}
	if why := r.unsettled(); why != nil {
		r.witness.failf("all was at rest, another agent took over and: %w", why)
	}
}

// end stops all goroutines of the run.
func (r *run) end() {
	if r.agent != nil {
		if err := r.agent.kill(); err != nil {
			r.witness.failf("the agent ended with: %w", err)
		}
	}
	if err := r.link.Close(); err != nil {
		r.witness.failf("stop the runtime: %w", err)
	}
}
