package sim

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
	"nodal/reconciler/decide"
)

// probeGrace is the grace period that a probe sets for a container that it fails.
const probeGrace = 3 * time.Second

// addProbes gives a container random probes.
func (c *clients) addProbes(spec *corev1.Container) {
	probe := func() *corev1.Probe {
		p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}}}
		if c.pick(2) == 0 {
			p.TerminationGracePeriodSeconds = new(int64(probeGrace / time.Second))
		}
		return p
	}
	if c.pick(2) == 0 {
		spec.StartupProbe = probe()
	}
	if c.pick(2) == 0 {
		spec.LivenessProbe = probe()
	}
	if c.pick(3) > 0 {
		spec.ReadinessProbe = probe()
		spec.ReadinessProbe.TerminationGracePeriodSeconds = nil
	}
}

// asked returns the probes that the agent wants to run now, each with a success as its result.
func (s *simulation) asked() []node.Probed {
	var words []node.Probed
	if s.agent == nil {
		return nil
	}
	for _, t := range s.agent.loop.Tracks() {
		for _, p := range decide.Probes(s.agent.loop.Site, t.Slot(), t.Got()) {
			words = append(words, node.Probed{Key: t.Key, Container: p.Container, ID: p.ID, Kind: p.Kind, OK: true})
		}
	}
	return words
}

// probeOne reports the result of a random probe. Only readiness fails here.
func (s *simulation) probeOne() {
	if words := s.asked(); len(words) > 0 {
		word := anyOf(s, words)
		word.OK = word.Kind != node.ReadinessProbe || s.rand.IntN(3) > 0
		s.say(word)
	}
}

// sickenOne makes a startup or liveness probe fail.
func (s *simulation) sickenOne() {
	for _, word := range s.asked() {
		if word.Kind != node.ReadinessProbe && s.rand.IntN(2) == 0 {
			word.OK = false
			s.say(word)
			return
		}
	}
}

// say delivers a probe's result after a while, if the agent is still the same.
func (s *simulation) say(word node.Probed) {
	a, c := s.agent, s.container(word.ID)
	if c == nil {
		return // it has vanished, and answers no more
	}
	s.after(s.faults.between(0, 300*time.Millisecond), func() {
		word.At = s.clock()
		switch {
		case !c.running():
			word.At = c.finished // an ended container has no newer result
			s.sequence.hears(c, word)
		case !word.OK && word.Kind != node.ReadinessProbe:
			c.sick = true
		default:
			s.sequence.hears(c, word)
		}
		a.hear(word)
	})
}

// hear hands a probe's result to the loop.
func (a *agent) hear(word node.Probed) {
	if a.dead || !a.loop.Hear(word) {
		return
	}
	a.world.met.addf("probe: %s %t", word.Kind, word.OK)
	a.world.trace.addf("agent: hears %s of %s in %s: %t", word.Kind, word.ID, word.Key, word.OK)
	a.turn()
}

// heal lets all probes succeed from now on.
func (s *simulation) heal() {
	for _, word := range s.asked() {
		s.say(word)
	}
	s.after(time.Second, s.heal)
}

// shownReady returns an error if a running container is not shown as ready although all its probes
// succeed.
func (s *simulation) shownReady(key node.Key, name string) error {
	t, ok := s.agent.loop.Track(key)
	if !ok {
		return errors.New("it has no track")
	}
	health := t.Got().Health[name]
	if c := s.container(health.ID); c != nil && c.running() && health.Failed != "" {
		return fmt.Errorf("container %s has failed its %s probe and still runs", name, health.Failed)
	}
	for _, c := range status.Of(s.agent.loop.Site, t.Slot(), t.Got()).ContainerStatuses {
		if c.Name == name && !c.Ready {
			return fmt.Errorf("container %s is not shown as ready", name)
		}
	}
	return nil
}

// restartAtRest restarts the agent while all is well. Nothing has changed, so the new agent must
// publish the same from the start.
func (s *simulation) restartAtRest() {
	if s.witness.failure != nil {
		return
	}
	s.crash("at rest")
	for s.step() && (s.agent == nil || !s.agent.loop.Synced()) {
	}
	if s.agent == nil {
		return
	}
	for _, key := range sortedKeys(s.witness.wanted) {
		l := s.witness.wanted[key]
		for i := range l.object.Spec.Containers {
			name := l.object.Spec.Containers[i].Name
			if run := s.newest(l, name); l.result != "" || run == nil || !run.running() {
				continue
			}
			if err := s.shownReady(key, name); err != nil {
				s.witness.failf("after a restart of the agent pod %s: %w", key, err)
			}
		}
	}
	s.settle()
}
