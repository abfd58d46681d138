package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/offer"
)

// world is the node as it truly is: a machine, what else outlives every agent, and the
// calls that are on their way. The name of what a call makes is taken from its arrival on.
type world struct {
	*Machine
	rand    *rand.Rand
	offer   offer.Offer                     // of the node, which stays
	skew    time.Duration                   // how far the wall clock is from the truth
	down    bool                            // the runtime does not answer; what runs goes on
	volumes map[types.UID]map[string]string // what each was made from, by name
	gorged  map[types.UID]bool              // pods that have written more than they may
	cgroups map[types.UID]limit.Limits
	pending []*call // whose effect may still come
	cabinet cabinet // of claims
	links   links
	made    int
	uids    int // of what the keeper has made
	witness *witness
	trace   *trace
	met     met
	around  func(*agent, node.Action) // it is about to have its effect, or has had it
}

func newWorld(s *schedule, r *rand.Rand, wi *witness, t *trace) *world {
	w := &world{
		rand: r, offer: offered(), witness: wi, trace: t, volumes: map[types.UID]map[string]string{},
		gorged: map[types.UID]bool{}, cgroups: map[types.UID]limit.Limits{}, cabinet: newCabinet(), met: met{},
		links: links{made: map[string]bool{}}, around: func(*agent, node.Action) {},
	}
	w.Machine = newMachine(s, w.wallClock, eyes{w}, w.number)
	return w
}

// epoch is when every run begins, on the wall clock.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// wallClock is the time as agent and runtime read it.
func (w *world) wallClock() time.Time { return epoch.Add(w.now + w.skew) }

func (w *world) number(kind string) string {
	w.made++
	return fmt.Sprintf("%s%d", kind, w.made)
}

// eyes are the witness's, and the world's own rules, at the machine.
type eyes struct{ *world }

var _ audience = eyes{}

func (e eyes) admit(pod *node.Pod, c *container) error {
	if !e.cgroups[c.uid].Cover(c.limits) {
		return refused("CreateContainerError", "the kernel: the pod's cgroup has no room for %s", c.limits)
	}
	e.witness.madeWith(e.world, pod, c)
	return nil
}

// resize does as the kernel does: what is in a cgroup has no more of the CPU than all of it.
func (e eyes) resize(c *container, limits limit.Limits) error {
	if !e.cgroups[c.uid].Cover(limits) {
		return refused("ResizeContainerError", "the kernel: the pod's cgroup has no room for %s", limits)
	}
	return nil
}

func (e eyes) began(c *container) {
	e.trace.addf("world: %s runs", c)
	e.witness.runs(e.world, c)
	e.witness.passes(c)
}

func (e eyes) termed(c *container) {
	if l := e.witness.lives[c.life]; l != nil && e.over(l) {
		c.over = l.ended
	}
	e.trace.addf("world: TERM to %s", c)
}

func (e eyes) gone(c *container) { e.links.lose(c) }

func (e eyes) killed(c *container) { e.witness.killed(e.world, c) }

func (e eyes) ended(c *container) {
	e.trace.addf("world: %s ended with %d", c, c.exit)
	e.witness.passes(c)
}
