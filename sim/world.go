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

// world is the true node: a machine, everything else that outlives agents, and the calls in flight.
type world struct {
	*Machine
	rand    *rand.Rand
	offer   offer.Offer                     // the node's offer, which never changes
	skew    time.Duration                   // how far the wall clock is off
	down    bool                            // the runtime does not answer; containers run on
	volumes map[types.UID]map[string]string // what each volume was made from, by name
	gorged  map[types.UID]bool              // pods that have written more than they may
	homes   map[types.UID]bool              // pods with a directory, which shows that what they have is this node's
	cgroups map[types.UID]limit.Limits
	pending []*call // calls whose effect may still come
	cabinet cabinet // the files of claims
	realms  []realm
	// scarcity counts what pods take of the machine's memory and disk.
	scarcity *scarcity
	sequence *sequence
	gadgets  *gadgets
	tools    *tools
	descent  *descent
	links    links
	made     int
	uids     int // the number of UIDs made by the keeper
	witness  *witness
	trace    *trace
	met      met
	guarded  bool                                            // see Options
	agents   int                                             // that have started
	around   func(a *agent, action node.Action, seldom bool) // called before and after an effect
	amid     func() error                                    // called between two effects of a sweep; an error ends it, or spares a pod
}

func newWorld(s *schedule, r *rand.Rand, wi *witness, t *trace) *world {
	w := &world{
		rand: r, offer: offered(), witness: wi, trace: t, volumes: map[types.UID]map[string]string{},
		gorged: map[types.UID]bool{}, homes: map[types.UID]bool{}, cgroups: map[types.UID]limit.Limits{}, cabinet: newCabinet(), met: met{},
		links: links{made: map[string]bool{}, dirs: map[types.UID]bool{}}, around: func(*agent, node.Action, bool) {}, amid: func() error { return nil },
	}
	w.Machine = newMachine(s, w.wallClock, eyes{w}, w.number)
	return w
}

// epoch is the wall clock's time at the start of every run.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// wallClock returns the time that agent and runtime read.
func (w *world) wallClock() time.Time { return epoch.Add(w.now + w.skew) }

func (w *world) number(kind string) string {
	w.made++
	return fmt.Sprintf("%s%d", kind, w.made)
}

// eyes observe the machine for the witness and the world's own rules.
type eyes struct{ *world }

var _ audience = eyes{}

func (e eyes) admit(pod *node.Pod, c *container) error {
	if !e.cgroups[c.uid].Cover(c.limits) {
		return refused("CreateContainerError", "the kernel: the pod's cgroup has no room for %s", c.limits)
	}
	e.witness.madeWith(e.world, pod, c)
	e.witness.equips(e.gadgets, pod, c)
	e.witness.claimed(e.tools, pod, c)
	return nil
}

// resize refuses more CPU than the cgroup above has, as the kernel does.
func (e eyes) resize(c *container, limits limit.Limits) error {
	if !e.cgroups[c.uid].Cover(limits) {
		return refused("ResizeContainerError", "the kernel: the pod's cgroup has no room for %s", limits)
	}
	return nil
}

func (e eyes) began(c *container) {
	e.trace.addf("world: %s runs", c)
	e.witness.runs(e.world, c)
	e.witness.prepared(e.gadgets, c)
	e.witness.passes(c)
	e.sequence.began[part{c.uid, c.name}] = true
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
