package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
)

// unsettled returns the first promise that is not yet kept, or nil.
func (s *simulation) unsettled() error {
	switch {
	case s.agent == nil:
		return errors.New("no agent is alive")
	case !s.witness.files || s.clients.owed || s.cluster.owes():
		return errors.New("not every source has delivered")
	}
	for _, c := range s.pending {
		if c.abandoned() {
			return fmt.Errorf("%s of %s is still on its way", c.action, c.t.Key)
		}
	}
	for _, t := range s.agent.loop.Tracks() {
		if calm, alarmed := s.agent.loop.Calm(t); !calm || alarmed && !s.restless() {
			return fmt.Errorf("pod %s is still being worked on", t.Key)
		}
	}
	views, _ := s.agent.store.Views()
	held := map[node.Key]*node.Slot{}
	for _, v := range views {
		held[v.Key] = v.Slot
		if s.witness.wanted[v.Key] == nil {
			return fmt.Errorf("pod %s is not wanted and not forgotten", v.Key)
		}
	}
	if err := s.leftovers(); err != nil {
		return err
	}
	for _, r := range s.realms {
		if err := r.unsettled(s.agent); err != nil {
			return err
		}
	}
	if err := s.tools.unsettled(s.agent); err != nil {
		return err
	}
	for _, key := range sortedKeys(s.witness.wanted) {
		if err := s.kept(s.witness.wanted[key], held[key], key); err != nil {
			return fmt.Errorf("pod %s: %w", key, err)
		}
	}
	return nil
}

// leftovers returns an error if anything on the machine has no owner.
func (s *simulation) leftovers() error {
	for _, box := range s.sandboxes {
		if l := s.witness.wanted[box.key]; l == nil || l.id.uid != box.uid {
			return fmt.Errorf("sandbox %s of %s, uid %s, is left over", box.id, box.key, box.uid)
		}
	}
	for _, c := range s.containers {
		if l := s.witness.wanted[c.key]; l == nil || l.id.uid != c.uid {
			return fmt.Errorf("container %s is left over", c)
		}
	}
	uids := map[types.UID]bool{}
	for _, l := range s.witness.wanted {
		uids[l.id.uid] = l.result == ""
	}
	for uid := range s.links.dirs {
		if _, ok := uids[uid]; !ok {
			return fmt.Errorf("the logs of uid %s are left over", uid)
		}
	}
	for uid := range s.world.volumes {
		if !uids[uid] {
			return fmt.Errorf("volumes of uid %s are left over", uid)
		}
	}
	for uid := range s.world.cgroups {
		if !uids[uid] {
			return fmt.Errorf("the cgroup of uid %s is left over", uid)
		}
	}
	return nil
}

// kept returns the first promise to a wanted pod that is not yet kept.
func (s *simulation) kept(l *life, slot *node.Slot, key node.Key) error {
	switch {
	case slot == nil:
		return fmt.Errorf("it was accepted and is lost")
	case idOf(slot.Pod) != l.id || slot.Next != nil || slot.Pod.Deletion != nil:
		return fmt.Errorf("its successor has not taken over")
	case slot.Result != nil:
		return s.finished(l)
	case l.late(s.clock()):
		return fmt.Errorf("its deadline has passed")
	case s.gorged[l.id.uid]:
		return fmt.Errorf("it has written more than it may")
	case s.trails(l):
		return nil
	}
	box, err := s.onlySandbox(l, key)
	if err != nil {
		return err
	}
	if err := errors.Join(s.upToDate(l, slot.Pod.Resize), s.held(slot.Pod)); err != nil {
		return err
	}
	if err := s.debugged(l, slot); err != nil {
		return err
	}
	for i := range l.object.Spec.InitContainers {
		c := &l.object.Spec.InitContainers[i]
		run := s.newest(l, c.Name)
		_, vanished := s.witness.vanished[c.Name+string(l.id.uid)] // the agent may not have seen its success
		again := run != nil && s.witness.isBefore(run)             // or the record of its success was lost
		past := s.witness.isPast(l, box.id, c.Name) && !vanished && !again
		if past && !node.IsSidecar(c) {
			continue
		}
		if err := s.alive(l, c, run, box); err != nil {
			return err
		}
		serves := node.IsSidecar(c) && run != nil && run.running()
		if !past && !serves {
			return nil // later containers may have to wait for it
		}
	}
	for i := range l.object.Spec.Containers {
		c := &l.object.Spec.Containers[i]
		if err := s.alive(l, c, s.newest(l, c.Name), box); err != nil {
			return err
		}
	}
	return nil
}

// debugged checks the promise of ephemeral containers: each was started, unless its target
// container does not run. It waits for one that ends.
func (s *simulation) debugged(l *life, slot *node.Slot) error {
	for i := range l.object.Spec.EphemeralContainers {
		c := &l.object.Spec.EphemeralContainers[i]
		if target := s.newest(l, c.TargetContainerName); c.TargetContainerName != "" && (target == nil || !target.running()) {
			continue
		}
		run := s.newest(l, c.Name)
		if !slot.Tallies[c.Name].Begun || run != nil && run.state == node.ContainerCreated && run.sandbox.ready {
			return fmt.Errorf("ephemeral container %s was not started", c.Name)
		}
		if run != nil && run.running() && !scriptOf(c.Image).endless() {
			return fmt.Errorf("ephemeral container %s has not ended yet", c.Name)
		}
	}
	return nil
}

// finished checks a pod with a final result: nothing of it runs, and it could come to a result at all.
func (s *simulation) finished(l *life) error {
	if endless(&l.object.Spec) && !l.refused && l.expired.IsZero() {
		return fmt.Errorf("it has a result though a container is always restarted")
	}
	if left := s.runsOf(l); len(left) > 0 {
		return fmt.Errorf("it has finished and %s runs", left[0])
	}
	return nil
}

// runsOf returns the running containers with the UID of a pod.
func (w *world) runsOf(l *life) []*container {
	return slices.DeleteFunc(slices.Clone(w.containers), func(c *container) bool { return c.uid != l.id.uid || !c.running() })
}

func (s *simulation) onlySandbox(l *life, key node.Key) (*sandbox, error) {
	var ready *sandbox
	for _, box := range s.sandboxes {
		if box.uid != l.id.uid || !box.ready {
			continue
		}
		if ready != nil {
			return nil, fmt.Errorf("it has two sandboxes, %s and %s", ready.id, box.id)
		}
		ready = box
	}
	if ready == nil {
		return nil, fmt.Errorf("it has no sandbox")
	}
	return ready, nil
}

func (w *world) newest(l *life, name string) *container {
	var newest *container
	for _, c := range w.containers {
		if c.uid == l.id.uid && c.name == name && (newest == nil || c.attempt > newest.attempt) {
			newest = c
		}
	}
	return newest
}

// endless reports whether a pod can never come to a result.
func endless(spec *corev1.PodSpec) bool {
	forever := false
	for c := range node.Containers(spec) {
		isInit := node.InitContainer(spec, c.Name) != nil
		if isInit && mayEnd(spec, c, 1) {
			return false
		}
		forever = forever || !isInit && !mayEnd(spec, c, 0)
	}
	return forever
}

// mayEnd reports whether a program in use here can end a run for good with at least this exit code.
func mayEnd(spec *corev1.PodSpec, c *corev1.Container, least int32) bool {
	return slices.ContainsFunc([]int32{0, 1, 128, 137, 143}, func(code int32) bool { return code >= least && mayStay(spec, c, code) })
}

// mayStay reports whether a run with this exit code is the last one.
func mayStay(spec *corev1.PodSpec, c *corev1.Container, code int32) bool {
	return !node.Rerun(spec, c, code)
}

// slack bounds the delay of a restart: a retry after the last fault.
const slack = 5 * time.Second

// alive checks the promise of a container: the wanted version runs, has ended for good, or waits
// for its next run.
func (s *simulation) alive(l *life, c *corev1.Container, run *container, box *sandbox) error {
	lost, vanished := s.witness.vanished[c.Name+string(l.id.uid)]
	spec := &l.object.Spec
	rests := run != nil && run.state == node.ContainerExited &&
		(!scriptOf(run.image).endless() || node.After(spec, c, run.exit) == node.AllContainers) &&
		run.finished.Add(s.agent.loop.Site.BackoffMax+slack).After(s.clock())
	switch {
	case vanished && (run == nil || run.attempt < lost && !run.running()) && mayEnd(spec, c, 0):
		return nil // the agent's own view of its end decides
	case run == nil:
		return fmt.Errorf("container %s was never made", c.Name)
	case !manifest.IsHashOf(run.hash, c) && (run.state != node.ContainerExited || node.Rerun(spec, c, run.exit)):
		return fmt.Errorf("%s is not of the wanted version", run)
	}
	if asked, ok := l.restarts[c.Name]; ok && run.attempt <= asked && !(rests && l.outlived(run)) {
		return fmt.Errorf("%s was not restarted", run)
	}
	switch run.state {
	case node.ContainerRunning:
		if run.sandbox != box {
			return fmt.Errorf("%s runs in a lost sandbox", run)
		}
		return errors.Join(s.found(run), s.shownReady(l.key, c.Name))
	case node.ContainerExited:
		if !rests && node.Rerun(&l.object.Spec, c, run.exit) {
			return fmt.Errorf("%s has ended and is not restarted", run)
		}
		return nil
	}
	return fmt.Errorf("%s is %s", run, run.state)
}

// restless reports whether a container ends or restarts by itself, so that work never ends.
func (s *simulation) restless() bool {
	for _, l := range s.witness.wanted {
		if l.result != "" {
			continue
		}
		if l.object.Spec.ActiveDeadlineSeconds != nil {
			return true
		}
		for c := range specs(l.object) {
			if !scriptOf(c.Image).endless() {
				return true
			}
		}
	}
	return false
}
