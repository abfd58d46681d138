package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/offer"
)

// world is the machine as it truly is: a runtime with its sandboxes and
// containers, and what runs in them. It outlives every agent.
type world struct {
	*schedule
	rand       *rand.Rand
	offer      offer.Offer   // of the node, which stays
	skew       time.Duration // how far the wall clock is from the truth
	down       bool          // the runtime does not answer; what runs goes on
	sandboxes  []*sandbox
	containers []*container
	reserved   map[string]bool // names in use, from the call's arrival on
	images     map[string]bool
	volumes    map[types.UID]map[string]string // what each was made from, by name
	gorged     map[types.UID]bool              // pods that have written more than they may
	cgroups    map[types.UID]limit.Limits
	pending    []*call // whose effect may still come
	cabinet    cabinet // of claims
	links      links
	made       int
	uids       int // of what the keeper has made
	witness    *witness
	trace      *trace
	met        met
	changed    func(node.Key) // something happened to a pod
	around     func(*call)    // a call is about to have its effect, or has had it
}

type sandbox struct {
	id      string
	key     node.Key
	uid     types.UID
	attempt uint32
	ready   bool
	stopped bool // its network was released
	late    bool // made by a call that the agent had given up
	created time.Time
}

type container struct {
	id       string
	sandbox  *sandbox
	key      node.Key
	uid      types.UID
	life     lifeID
	name     string
	attempt  uint32
	state    node.ContainerState
	hash     string
	image    string
	created  time.Time
	started  time.Time
	finished time.Time
	exit     int32
	reason   string
	grace    time.Duration
	noted    *corev1.Container // its preStop hook, if it has one
	limits   limit.Limits
	owns     bool // its CPUs, and the record that says so is there

	termed  bool          // TERM was sent
	term    time.Duration // when
	over    time.Time     // since when its pod had nothing left to do then; zero: it had
	sick    bool          // a probe that decides on its life has failed
	late    bool          // started or ended by a call that the agent had given up
	hooks   hooked
	waiters []func() // called at its end
}

func (c *container) running() bool { return c.state == node.ContainerRunning }

func (c *container) String() string {
	return fmt.Sprintf("%s (%s of %s %s, attempt %d)", c.id, c.name, c.key, c.uid, c.attempt)
}

func newWorld(s *schedule, r *rand.Rand, w *witness, t *trace) *world {
	return &world{
		schedule: s, rand: r, witness: w, trace: t,
		reserved: map[string]bool{}, images: map[string]bool{}, volumes: map[types.UID]map[string]string{},
		gorged: map[types.UID]bool{}, cgroups: map[types.UID]limit.Limits{}, cabinet: newCabinet(), met: met{},
		links: links{made: map[string]bool{}}, offer: offered(),
		changed: func(node.Key) {}, around: func(*call) {},
	}
}

// epoch is when every run begins, on the wall clock.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is the wall clock, as agent and runtime read it.
func (w *world) clock() time.Time { return epoch.Add(w.now + w.skew) }

func (w *world) newID(kind string) string {
	w.made++
	return fmt.Sprintf("%s%d", kind, w.made)
}

func (w *world) sandbox(id string) *sandbox {
	i := slices.IndexFunc(w.sandboxes, func(s *sandbox) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return w.sandboxes[i]
}

func (w *world) container(id string) *container {
	i := slices.IndexFunc(w.containers, func(c *container) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return w.containers[i]
}

// inSandbox are the containers of a sandbox that run.
func (w *world) inSandbox(id string) []*container {
	var running []*container
	for _, c := range w.containers {
		if c.sandbox.id == id && c.running() {
			running = append(running, c)
		}
	}
	return running
}

// begin runs a created container.
func (w *world) begin(c *container) {
	c.state, c.started = node.ContainerRunning, w.clock()
	w.trace.addf("world: %s runs", c)
	w.witness.runs(w, c)
	w.witness.passes(c)
	if s := scriptOf(c.image); s.lasts > 0 {
		w.after(s.lasts, func() { w.end(c, s.exit, "") })
	}
	w.changed(c.key)
}

// end is a container's exit, for whatever reason.
func (w *world) end(c *container, code int32, reason string) {
	if !c.running() {
		return
	}
	c.state, c.finished, c.exit, c.reason = node.ContainerExited, w.clock(), code, reason
	w.trace.addf("world: %s ended with %d", c, code)
	w.witness.passes(c)
	for _, tell := range c.waiters {
		tell()
	}
	c.waiters = nil
	w.changed(c.key)
}

// signal is TERM; a container takes only the first one to heart.
func (w *world) signal(c *container) {
	if c.termed {
		return
	}
	c.termed, c.term = true, w.now
	if l := w.witness.lives[c.life]; l != nil && w.over(l) {
		c.over = l.ended
	}
	w.trace.addf("world: TERM to %s", c)
	if s := scriptOf(c.image); !s.deaf {
		w.after(s.ending, func() { w.end(c, 143, "Error") })
	}
}

// kill is KILL by the runtime, on the agent's behalf.
func (w *world) kill(c *container) {
	if !c.running() {
		return
	}
	w.witness.killed(w, c)
	w.end(c, 137, "Error")
}

// forget drops a container with its name.
func (w *world) forget(c *container) {
	w.containers = slices.DeleteFunc(w.containers, func(o *container) bool { return o == c })
	delete(w.reserved, containerName(c.uid, c.name, c.attempt))
	w.links.lose(c)
	w.changed(c.key)
}

func (w *world) forgetSandbox(s *sandbox) {
	for _, c := range slices.Clone(w.containers) {
		if c.sandbox == s {
			w.forget(c)
		}
	}
	w.sandboxes = slices.DeleteFunc(w.sandboxes, func(o *sandbox) bool { return o == s })
	delete(w.reserved, sandboxName(s.uid, s.attempt))
	w.changed(s.key)
}

func sandboxName(uid types.UID, attempt uint32) string { return fmt.Sprintf("%s/%d", uid, attempt) }

func containerName(uid types.UID, name string, attempt uint32) string {
	return fmt.Sprintf("%s/%s/%d", uid, name, attempt)
}
