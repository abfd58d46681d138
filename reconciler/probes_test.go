package reconciler_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler"
	sim "nodal/sim/cri"
)

// prober runs no probes: a test says what containers answer.
type prober struct {
	results chan node.Probed

	mu  sync.Mutex
	set map[node.Key][]node.Probe
}

var _ reconciler.Prober = (*prober)(nil)

func (p *prober) Results() <-chan node.Probed { return p.results }

func (p *prober) Set(key node.Key, probes []node.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set[key] = probes
	if len(probes) == 0 {
		delete(p.set, key)
	}
}

// asked are the probes that are to be asked now.
func (b *bench) asked() map[node.Key][]node.Probe {
	b.prober.mu.Lock()
	defer b.prober.mu.Unlock()
	return maps.Clone(b.prober.set)
}

func (b *bench) wantAsked(name string, want ...node.ProbeKind) {
	b.Helper()
	var kinds []node.ProbeKind
	for _, p := range b.asked()[key(name)] {
		kinds = append(kinds, p.Kind)
	}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		b.Errorf("asked are %v, want %v", kinds, want)
	}
}

// says has a probe that is asked say its word.
func (b *bench) says(name string, kind node.ProbeKind, ok bool) {
	b.Helper()
	for _, p := range b.asked()[key(name)] {
		if p.Kind == kind {
			b.prober.results <- node.Probed{Key: key(name), Container: p.Container, ID: p.ID, Kind: kind, OK: ok, At: time.Now()}
			b.rest(time.Second)
			return
		}
	}
	b.Errorf("nobody asks the %s probe of %s", kind, name)
}

func probed(name string) *corev1.Pod {
	object := pod(name)
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}}}
	c := &object.Spec.Containers[0]
	c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = probe, probe, probe
	return object
}

func TestProbesFollowThePod(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(probed("web"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=false")
		b.wantAsked("web", node.StartupProbe)
		b.says("web", node.StartupProbe, true)
		b.wantAsked("web", node.ReadinessProbe, node.LivenessProbe)
		b.wantState("web", "Running running restarts=0 ready=false")
		b.says("web", node.ReadinessProbe, true)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.says("web", node.LivenessProbe, false)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=1 ready=false")
		b.wantAsked("web", node.StartupProbe)
		b.delete("web", time.Second)
		b.rest(5 * time.Second)
		b.wantGone("web")
		b.wantAsked("web")
		events, _, err := b.events.Since(0, func(e *node.Event) bool { return e.Reason == "Killing" })
		if err != nil || len(events) == 0 || !strings.Contains(events[0].Message, "Container main failed liveness probe, will be restarted") {
			t.Errorf("killing: %+v, %v", events, err)
		}
	})
}

func TestRestartOfTheAgentFlipsNoReady(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		for _, name := range []string{"web", "db"} {
			b.apply(probed(name))
			b.rest(time.Second)
			b.says(name, node.StartupProbe, true)
		}
		b.says("web", node.ReadinessProbe, true)
		b.rest(20 * time.Second)
		since := readySince(b.status("web"))
		b.stop()
		b.start()
		b.rest(0) // the first that is told
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantState("db", "Running running restarts=0 ready=false")
		if got := readySince(b.status("web")); !got.Equal(since) {
			t.Errorf("ready since %s, want %s as before", got, since)
		}
		b.rest(time.Second)
		b.wantAsked("db", node.ReadinessProbe, node.LivenessProbe) // it has started before
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerStarted: 2})
	})
}

func readySince(s corev1.PodStatus) time.Time {
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func TestReadinessIsShownWhileTheRuntimeIsAway(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(probed("web"))
		b.rest(time.Second)
		b.says("web", node.StartupProbe, true)
		b.says("web", node.ReadinessProbe, true)
		b.server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "List*", Kind: sim.ErrorBefore}}})
		b.rest(10 * time.Minute) // until it is looked at again
		if got := b.reasons(everything); !strings.Contains(got, "RuntimeLost") {
			t.Fatalf("events = %s, want in it RuntimeLost", got)
		}
		b.says("web", node.ReadinessProbe, false)
		b.wantState("web", "Running running restarts=0 ready=false")
	})
}
