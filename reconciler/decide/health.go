package decide

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// condemned ends the runs that have failed their startup or liveness probe or their postStart hook, once the failure is
// journalled. What follows depends on the failure, even if the next agent sees the end.
func condemned(p *Plan, v *View) bool {
	for c, run := range v.running() {
		kind := v.got.HealthOf(run).Failed
		if kind != "" && v.noted(run).Failed == kind && !v.toEnd(run, c) {
			v.end(p, run, v.probeGrace(c, kind), v.whyCondemned(c, kind))
		}
	}
	return false
}

// probeGrace returns the probe's own grace period, or else the pod's.
func (v *View) probeGrace(c *corev1.Container, kind node.ProbeKind) time.Duration {
	if probe := node.ProbeOf(c, kind); probe != nil && probe.TerminationGracePeriodSeconds != nil {
		return node.Seconds(*probe.TerminationGracePeriodSeconds)
	}
	return v.grace()
}

func (v *View) whyCondemned(c *corev1.Container, kind node.ProbeKind) string {
	text := fmt.Sprintf("Container %s failed %s probe", c.Name, strings.ToLower(string(kind)))
	if kind == node.FailedHook {
		text = node.FailedPostStart
	}
	if v.life.After(v.run(c.Name), c) != node.NoRun {
		text += ", will be restarted"
	}
	return text
}

// noteEvery is the shortest time between two records of a container's readiness.
const noteEvery = 10 * time.Second

// noteHealth journals the results of probes for the next start of the agent, which finds the container running but
// cannot learn whether it was ready. A loss of readiness is noted at once, or the next agent would show the container
// as ready again. Readiness that comes and goes all the time is noted when it has lasted for a while.
func noteHealth(p *Plan, v *View) bool {
	for c, run := range v.running() {
		health, noted := v.got.HealthOf(run), v.noted(run)
		if health == noted {
			continue
		}
		urgent := health.Failed != noted.Failed || noted.Ready && !health.Ready
		if due := noted.Since.Add(noteEvery); v.now.Before(due) && !urgent {
			p.wait(due, "")
			continue
		}
		p.try(v, node.SetHealth{Container: c.Name, Health: health})
	}
	return false
}

// noted returns the health of a run as the journal has it.
func (v *View) noted(run *node.Container) node.Health {
	if noted := v.slot.Health[run.Name]; noted.ID == run.ID {
		return noted
	}
	return node.Health{ID: run.ID}
}
