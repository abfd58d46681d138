package sim

import (
	"context"
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

	dirs map[types.UID]bool // pods with a directory of logs
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

// lay makes the directories of a pod and of its logs, as the adapter does before it makes the call that creates a
// container.
func (w *world) lay(uid types.UID, a node.Action) {
	if _, creates := a.(node.CreateContainer); creates {
		w.homes[uid], w.links.dirs[uid] = true, true
	}
}

// leave removes the directory of a pod that has neither volumes nor files in it. A pod with logs has files.
func (w *world) leave(uid types.UID) {
	if w.volumes[uid] == nil && !w.links.dirs[uid] {
		delete(w.homes, uid)
	}
}

// RemovePod removes the logs of a pod. Nothing of the pod may run.
func (l logLinks) RemovePod(_ node.Key, uid types.UID) error {
	for _, run := range l.world.containers {
		if run.uid == uid && run.running() {
			l.world.witness.failf("the logs of %s were removed while it ran", run)
		}
	}
	delete(l.world.links.dirs, uid)
	l.world.leave(uid)
	return nil
}

// RemoveRun does nothing: this world has no log files.
func (logLinks) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }

// Sweep removes the logs of the pods for which keep is false.
func (l logLinks) Sweep(_ context.Context, keep func(types.UID) bool) error {
	foreign := func(uid types.UID) bool { return !l.world.homes[uid] }
	return sweep(l.world, "logs", l.world.links.dirs, func(uid types.UID) bool { return foreign(uid) || keep(uid) },
		func(uid types.UID) error { return l.RemovePod(node.Key{}, uid) })
}

// Garbage finds none: this world is not asked for it.
func (logLinks) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

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
	if !w.links.dirs[run.uid] {
		return fmt.Errorf("the log of %s is gone", run)
	}
	return nil
}
