package sim

import (
	"fmt"

	"nodal/node"
)

// met counts the situations that runs have met. Runs without violations prove nothing about
// situations that never occurred.
type met map[string]int

func (m met) addf(format string, args ...any) { m[fmt.Sprintf(format, args...)]++ }

func (m met) add(more met) {
	for what, count := range more {
		m[what] += count
	}
}

// meetDeath counts what an agent left when it died: calls in flight, calls without an answer, and
// what its pods were about to do.
func (s *simulation) meetDeath(dead *agent) {
	for _, c := range dead.calls {
		moment := "before its effect"
		if c.settled {
			moment = "before its answer"
		}
		s.met.addf("death: %s, %s", c.what(), moment)
	}
	for _, e := range dead.errands {
		s.met.addf("death: %s, %s", node.KindOf(e.action), e.moment())
	}
	for _, t := range dead.loop.Tracks() {
		if len(t.Got().Behind) > 0 {
			s.met.addf("death: beside a pod that waits for those before it")
		}
	}
	views, _ := dead.store.Views()
	for _, v := range views {
		for what, is := range map[string]bool{
			"a pod that is deleted": v.Slot.Pod.Deletion != nil, "a pod that another one waits for": v.Slot.Next != nil,
			"a pod that has to end": v.Slot.Termination != nil, "a pod that has ended": v.Slot.Result != nil,
			"a pod that waits for resources": v.Slot.Pod.Resize != nil, "a pod that waits for the end of others": len(v.Slot.Pod.Awaits) > 0, "a container that is to restart": len(v.Slot.Pod.Restarts) > 0,
		} {
			if is {
				s.met.addf("death: beside %s", what)
			}
		}
	}
}

// what names the kind of a call, and of its container.
func (c *call) what() string {
	kind := node.KindOf(c.action)
	if hook, ok := c.action.(node.RunHook); ok {
		kind += " " + string(hook.Kind)
	}
	name, spec := c.action.About().Container, &c.pod.Object.Spec
	switch init := node.InitContainer(spec, name); {
	case node.EphemeralContainer(spec, name) != nil:
		return kind + " of an ephemeral container"
	case init == nil:
		return kind
	case node.IsSidecar(init):
		return kind + " of a sidecar"
	}
	return kind + " of an init container"
}
