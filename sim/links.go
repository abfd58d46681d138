package sim

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler"
)

// links records the links by which log collectors find the logs of containers.
type links struct {
	made     map[string]bool // by container
	dangling []string        // containers that the present call has removed without their links
	unheard  bool            // the agent does not hear the answer to the present call
	starting bool            // the present call starts a container
}

// lose drops the link to the log of a removed container.
func (l *links) lose(c *container) {
	if l.made[c.id] {
		l.dangling = append(l.dangling, c.id)
		delete(l.made, c.id)
	}
}

// logLinks makes and removes links for one agent. The links outlive the agent.
type logLinks struct {
	world *world
	bug   Bug
}

var _ reconciler.Logs = logLinks{}

// Link links a run's log. An agent that does not learn of a start makes no link.
func (l logLinks) Link(_ node.Key, run *node.Container) {
	links := &l.world.links
	if links.unheard || l.bug == LinkAtStart && !links.starting {
		return
	}
	links.made[run.ID] = true
}

// Unlink removes the link to a run's log.
func (l logLinks) Unlink(_ node.Key, _, id string) {
	if l.bug != KeepLinks {
		delete(l.world.links.made, id)
	}
}

// RemovePod and RemoveRun do nothing: this world has no log files.
func (logLinks) RemovePod(node.Key, types.UID) error                 { return nil }
func (logLinks) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }

// perform runs do, the effect of a call, and checks that the call leaves no link to the log of a container that it
// removes. It notes for logLinks whether the agent will hear the answer.
func (w *world) perform(c *call, do func() (node.Result, error)) (node.Result, error) {
	_, w.links.starting = c.action.(node.StartContainer)
	w.links.unheard = c.abandoned() || c.fate.kind == Fail || c.fate.kind == Lose
	w.links.dangling = nil
	result, err := do()
	if left := w.links.dangling; len(left) > 0 {
		w.witness.failf("%s left links to the logs of %q", c.action, left)
	}
	return result, err
}

// found checks the promise to log collectors: the log of each running container is linked.
func (w *world) found(run *container) error {
	if !w.links.made[run.id] {
		return fmt.Errorf("the log of %s is not linked", run)
	}
	return nil
}
