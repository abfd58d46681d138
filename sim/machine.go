package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/cri"
	"nodal/node"
	"nodal/node/limit"
)

// Machine is a container runtime without faults and without chance. An action has its effect at
// once; the ends of programs are due in the schedule. Seeds and scripts both play on it.
type Machine struct {
	*schedule
	clock      func() time.Time         // returns the wall clock's time
	newID      func(kind string) string // names new objects
	sandboxes  []*sandbox
	containers []*container
	reserved   map[string]bool // names in use
	images     map[string]bool
	audience   audience
	changed    func(node.Key) // called when something happens to a pod
	blind      bool           // the bug ForgetGuard
}

// audience observes what truly happens.
type audience interface {
	// admit is called before a container is made, and may refuse it.
	admit(*node.Pod, *container) error
	// resize is called before the limits of a container change, and may refuse that.
	resize(*container, limit.Limits) error
	began(*container)
	termed(*container)
	killed(*container)
	ended(*container)
	gone(*container)
}

// NewMachine makes an empty machine that reads a clock. IDs count up from 1 for each kind of
// object.
func NewMachine(clock func() time.Time) *Machine {
	counts := map[string]int{}
	return newMachine(&schedule{}, clock, permissive{}, func(kind string) string {
		counts[kind]++
		return fmt.Sprintf("%s%d", kind, counts[kind])
	})
}

func newMachine(s *schedule, clock func() time.Time, a audience, newID func(string) string) *Machine {
	return &Machine{
		schedule: s, clock: clock, newID: newID, audience: a,
		reserved: map[string]bool{}, images: map[string]bool{}, changed: func(node.Key) {},
	}
}

// permissive refuses no change.
type permissive struct{}

var _ audience = permissive{}

func (permissive) admit(*node.Pod, *container) error     { return nil }
func (permissive) resize(*container, limit.Limits) error { return nil }
func (permissive) began(*container)                      {}
func (permissive) termed(*container)                     {}
func (permissive) killed(*container)                     {}
func (permissive) ended(*container)                      {}
func (permissive) gone(*container)                       {}

type sandbox struct {
	id      string
	key     node.Key
	uid     types.UID
	attempt uint32
	ready   bool
	stopped bool // the network is released
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
	noted    *corev1.Container // the preStop hook, if there is one
	limits   limit.Limits
	owns     bool      // it has CPUs of its own, and their record exists
	devices  []string  // that it has, if their record exists
	belong   string    // the devices that it was made with
	claim    types.UID // the resource claim that it was made with

	termed  bool          // TERM has been sent
	term    time.Duration // when it was sent
	over    time.Time     // since when its pod had nothing left to do at that time; zero: it had
	cut     time.Time     // when it may be killed for a shutdown that was called off since
	sick    bool          // a startup or liveness probe has failed
	late    bool          // started or ended by a call that the agent had given up
	hooks   hooked
	waiters []func() // called when the container ends
}

func (c *container) running() bool { return c.state == node.ContainerRunning }

func (c *container) String() string {
	return fmt.Sprintf("%s (%s of %s %s, attempt %d)", c.id, c.name, c.key, c.uid, c.attempt)
}

func (m *Machine) sandbox(id string) *sandbox {
	i := slices.IndexFunc(m.sandboxes, func(s *sandbox) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return m.sandboxes[i]
}

func (m *Machine) container(id string) *container {
	i := slices.IndexFunc(m.containers, func(c *container) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return m.containers[i]
}

// inSandbox returns the running containers of a sandbox.
func (m *Machine) inSandbox(id string) []*container {
	var running []*container
	for _, c := range m.containers {
		if c.sandbox.id == id && c.running() {
			running = append(running, c)
		}
	}
	return running
}

// begin starts a created container.
func (m *Machine) begin(c *container) {
	c.state, c.started = node.ContainerRunning, m.clock()
	m.audience.began(c)
	if s := scriptOf(c.image); s.lasts > 0 {
		m.after(s.lasts, func() { m.end(c, s.exit, "") })
	}
	m.changed(c.key)
}

// end ends a container, for whatever reason.
func (m *Machine) end(c *container, code int32, reason string) {
	if !c.running() {
		return
	}
	c.state, c.finished, c.exit, c.reason = node.ContainerExited, m.clock(), code, reason
	m.audience.ended(c)
	for _, tell := range c.waiters {
		tell()
	}
	c.waiters = nil
	m.changed(c.key)
}

// stop sends TERM, and KILL once the grace period is over, unless the call is given up before.
func (m *Machine) stop(c *container, grace time.Duration, givenUp func() bool) {
	m.signal(c)
	m.after(cri.StopTimeout(grace), func() {
		if !givenUp() {
			m.kill(c)
		}
	})
}

// signal sends TERM. A container reacts to the first one only.
func (m *Machine) signal(c *container) {
	if c.termed {
		return
	}
	c.termed, c.term = true, m.now
	m.audience.termed(c)
	if s := scriptOf(c.image); !s.deaf {
		m.after(s.ending, func() { m.end(c, 143, "Error") })
	}
}

// kill sends KILL for the agent.
func (m *Machine) kill(c *container) {
	if !c.running() {
		return
	}
	m.audience.killed(c)
	m.end(c, 137, "Error")
}

// forget removes a container and frees its name.
func (m *Machine) forget(c *container) {
	m.containers = slices.DeleteFunc(m.containers, func(o *container) bool { return o == c })
	delete(m.reserved, containerName(c.uid, c.name, c.attempt))
	m.audience.gone(c)
	m.changed(c.key)
}

func (m *Machine) forgetSandbox(s *sandbox) {
	for _, c := range slices.Clone(m.containers) {
		if c.sandbox == s {
			m.forget(c)
		}
	}
	m.sandboxes = slices.DeleteFunc(m.sandboxes, func(o *sandbox) bool { return o == s })
	delete(m.reserved, sandboxName(s.uid, s.attempt))
	m.changed(s.key)
}

func sandboxName(uid types.UID, attempt uint32) string { return fmt.Sprintf("%s/%d", uid, attempt) }

func containerName(uid types.UID, name string, attempt uint32) string {
	return fmt.Sprintf("%s/%s/%d", uid, name, attempt)
}
