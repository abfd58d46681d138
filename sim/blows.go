package sim

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// anyOf returns a random item of a list, or the zero value if it is empty.
func anyOf[T any](s *simulation, list []T) (one T) {
	if len(list) > 0 {
		one = list[s.rand.IntN(len(list))]
	}
	return one
}

func (s *simulation) exitOne() {
	running := slices.DeleteFunc(slices.Clone(s.containers), func(c *container) bool { return !c.running() })
	if c := anyOf(s, running); c != nil {
		s.end(c, int32(s.rand.IntN(2)), "")
	}
}

// dieOne ends a sandbox, at random with its containers and the pod's cgroup.
func (s *simulation) dieOne() {
	box := anyOf(s, s.sandboxes)
	if box == nil || !box.ready {
		return
	}
	s.trace.addf("world: sandbox %s dies", box.id)
	box.ready = false
	if s.rand.IntN(3) > 0 {
		for _, c := range s.inSandbox(box.id) {
			s.end(c, 137, "Error")
		}
		s.unbind(box.uid)
	}
	s.changed(box.key)
}

// unbind removes a pod's empty cgroup, as an operator might.
func (s *simulation) unbind(uid types.UID) {
	if slices.ContainsFunc(s.sandboxes, func(b *sandbox) bool { return b.uid == uid && b.ready }) ||
		slices.ContainsFunc(s.containers, func(c *container) bool { return c.uid == uid && c.running() }) {
		return
	}
	s.trace.addf("world: the cgroup of %s is removed", uid)
	delete(s.cgroups, uid)
}

func (s *simulation) vanishOne() {
	switch s.rand.IntN(4) {
	case 0:
		clear(s.images)
	case 1:
		if box := anyOf(s, s.sandboxes); box != nil {
			s.trace.addf("world: sandbox %s vanishes", box.id)
			s.witness.times.robbed[box.uid] = true
			for _, c := range s.inSandbox(box.id) {
				s.end(c, 137, "Error")
			}
			for _, c := range s.containers {
				if c.sandbox == box {
					s.witness.vanishes(c)
				}
			}
			s.forgetSandbox(box)
		}
	default:
		if c := anyOf(s, s.containers); c != nil {
			s.trace.addf("world: %s vanishes", c)
			s.witness.times.robbed[c.uid] = true
			s.end(c, 137, "Error")
			s.witness.vanishes(c)
			s.forget(c)
		}
	}
}

func (s *simulation) outage() {
	if s.down {
		return
	}
	s.trace.addf("world: the runtime is down")
	s.down, s.deaf = true, true
	s.breakOff()
	for name := range s.reserved {
		if !s.holds(name) {
			delete(s.reserved, name)
		}
	}
	if s.agent != nil {
		s.agent.relist()
	}
	s.after(s.faults.between(100*time.Millisecond, 20*time.Second), func() {
		s.trace.addf("world: the runtime is up")
		s.down = false
		s.after(s.faults.between(0, 2*time.Second), s.reconnect)
	})
}

// reconnect restores the agent's event stream, and starts a full look for what it missed.
func (s *simulation) reconnect() {
	s.deaf = s.down
	if s.agent != nil && !s.deaf {
		s.agent.relist()
	}
}

// holds reports whether an object in the runtime holds a name.
func (s *simulation) holds(name string) bool {
	return slices.ContainsFunc(s.sandboxes, func(b *sandbox) bool { return sandboxName(b.uid, b.attempt) == name }) ||
		slices.ContainsFunc(s.containers, func(c *container) bool { return containerName(c.uid, c.name, c.attempt) == name })
}

func (s *simulation) fill() {
	s.trace.addf("disk: full")
	s.journal.full = true
	s.after(s.faults.between(time.Second, 30*time.Second), func() { s.journal.full = false })
}

func (s *simulation) jump() {
	by := s.faults.between(-5*time.Minute, 5*time.Minute)
	s.trace.addf("clock: jumps by %s", by)
	s.skew += by
}

// dieAround kills the agent around actions where chance alone would seldom strike. It has its own
// random source, so that it does not change the rest of the run.
func (s *simulation) dieAround(a *agent, action node.Action, seldom bool) {
	if seldom && a == s.agent && s.faults.rate[Crash] > 0 && s.deaths.IntN(4) == 0 {
		s.crash("around " + action.String())
	}
}

// seldom reports whether an action of a pod is one of those.
func seldom(a node.Action) bool { return rare[reflect.TypeOf(a)] }

var rare = map[reflect.Type]bool{
	reflect.TypeFor[node.ResizeContainer](): true, reflect.TypeFor[node.AskRestart](): true,
	reflect.TypeFor[node.StartOver](): true, reflect.TypeFor[node.SetTermination](): true, reflect.TypeFor[node.SetHalted](): true,
}

// loseRecord deletes a static pod's record: its file brings the pod back.
func (s *simulation) loseRecord() {
	for _, name := range fileNames() {
		delete(s.journal.records, "pods/default_"+name)
		s.disown(node.Key{Namespace: "default", Name: name})
		s.trace.addf("disk: the record of %s is lost", name)
	}
}
