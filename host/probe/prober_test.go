package probe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const s = time.Second

func TestTimetable(t *testing.T) {
	t.Run("a probe is asked at once and then every period", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
			w.rest(25 * s)
			w.wantAsked(0, 10*s, 20*s)
		})
	})
	t.Run("the initial delay counts from the start of the run", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			probe := w.fresh(node.ReadinessProbe, delay(5))
			w.rest(2 * s)
			w.Set(key, []node.Probe{probe})
			w.rest(14 * s)
			w.wantAsked(5*s, 15*s)
		})
	})
	t.Run("a clock that was set back does not make the delay longer", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			probe := w.fresh(node.ReadinessProbe, delay(5))
			probe.StartedAt = probe.StartedAt.Add(time.Hour)
			w.Set(key, []node.Probe{probe})
			w.rest(6 * s)
			w.wantAsked(5 * s)
		})
	})
	t.Run("a slow answer does not shift the periods, and is never overtaken", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.takes = func(asked int) time.Duration {
				if asked < 2 {
					return 4 * s
				}
				return 15 * s
			}
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
			w.rest(42 * s)
			w.wantAsked(0, 10*s, 20*s, 35*s)
		})
	})
	t.Run("what is set again keeps its timetable and its count", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.ask = answers(1)
			probe := w.fresh(node.ReadinessProbe)
			for range 5 {
				w.Set(key, []node.Probe{probe})
				w.rest(5 * s)
			}
			w.wantAsked(0, 10*s, 20*s)
			w.wantWords("c1 Readiness fails at 20s")
		})
	})
	t.Run("a probe that is not set any more is asked no more, and its question is dropped", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.takes = always(s)
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
			w.rest(s / 2)
			w.Set(key, nil)
			w.rest(30 * s)
			w.wantAsked(0)
			w.wantWords()
			if w.ended != 1 {
				t.Errorf("%d commands were cancelled, want the one", w.ended)
			}
		})
	})
	t.Run("a new run begins from nothing", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.ask = answers(1)
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
			w.rest(15 * s)
			next := w.fresh(node.ReadinessProbe)
			next.ID = "c2"
			w.Set(key, []node.Probe{next})
			w.rest(21 * s)
			w.wantAsked(0, 10*s, 15*s, 25*s, 35*s)
			w.wantWords("c2 Readiness fails at 35s")
		})
	})
	t.Run("nothing is asked after the close", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
			w.rest(s)
			w.Close()
			w.Set(key, []node.Probe{w.fresh(node.LivenessProbe)})
			w.rest(30 * s)
			w.wantAsked(0)
		})
	})
}

// What a probe is asked after the first time is reckoned from when it was due then.
func TestADelayUsesTheMonotonicClock(t *testing.T) {
	now := time.Now()
	probe := node.Probe{Spec: &corev1.Probe{InitialDelaySeconds: 5}, StartedAt: now.Round(0)} // without a monotonic part, as it arrives
	due := New(Config{}).first(probe, now)
	if due.Sub(now) != 5*s || due == due.Round(0) {
		t.Errorf("it is due at %s, want it with a reading of that clock", due)
	}
}

func TestRunsThatAreFoundAreSpread(t *testing.T) {
	inBubble(t, func(w *ward) {
		const pods = 100
		for i := range pods {
			probe := w.fresh(node.ReadinessProbe)
			probe.StartedAt = w.began.Add(-time.Hour)
			w.Set(node.Key{Name: fmt.Sprint(i)}, []node.Probe{probe})
		}
		w.rest(10 * s)
		early := 0
		for _, at := range w.asked {
			if at < 5*s {
				early++
			}
		}
		if len(w.asked) < pods || early < pods/4 || early > 3*pods/4 {
			t.Errorf("%d were asked in a period, %d of them in its first half; want %d and about a half", len(w.asked), early, pods)
		}
		// Later than that a probe of an old run is as urgent as any.
		late := w.fresh(node.ReadinessProbe)
		late.StartedAt, late.ID = w.began.Add(-time.Hour), "late"
		before := len(w.asked)
		w.Set(node.Key{Name: "late"}, []node.Probe{late})
		w.rest(0)
		if len(w.asked) <= before {
			t.Error("a probe that was set later has to wait")
		}
	})
}

func TestThresholds(t *testing.T) {
	cases := []struct {
		name  string
		kind  node.ProbeKind
		exits []int32
		want  []string
	}{
		{"one success makes ready", node.ReadinessProbe, []int32{0}, []string{"c1 Readiness passes at 0s"}},
		{"a success that follows failures is told once", node.ReadinessProbe, []int32{1, 1, 0}, []string{"c1 Readiness passes at 20s"}},
		{"three failures in a row count, and are told once", node.ReadinessProbe, []int32{0, 1, 1, 1, 1},
			[]string{"c1 Readiness passes at 0s", "c1 Readiness fails at 30s"}},
		{"failures with a success in between do not count", node.ReadinessProbe, []int32{0, 1, 1, 0, 1, 1, 0},
			[]string{"c1 Readiness passes at 0s"}},
		{"a failed liveness probe is not asked again", node.LivenessProbe, []int32{1, 1, 1, 0},
			[]string{"c1 Liveness fails at 20s"}},
		{"nor a startup probe that has failed", node.StartupProbe, []int32{1, 1, 1, 0}, []string{"c1 Startup fails at 20s"}},
		{"nor one that has succeeded", node.StartupProbe, []int32{1, 0, 1, 1, 1}, []string{"c1 Startup passes at 10s"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *ward) {
				w.ask = answers(c.exits...)
				w.Set(key, []node.Probe{w.fresh(c.kind)})
				w.rest(95 * s)
				w.wantWords(c.want...)
			})
		})
	}
	t.Run("readiness may ask for several successes", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.ask = answers(0, 1, 0, 0, 0)
			w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe, thresholds(2, 1))})
			w.rest(45 * s)
			w.wantWords("c1 Readiness fails at 10s", "c1 Readiness passes at 30s")
		})
	})
}

func TestAnUnansweredProbeDoesNotCount(t *testing.T) {
	problems := []struct {
		name  string
		err   error
		event string // of the first
	}{
		{"a runtime that is away", node.ErrUnavailable, ""},
		{"a container that is gone", node.ErrNotFound, ""},
		{"a command that is not there", fmt.Errorf("no such file"), "Unhealthy x1 Liveness probe errored and resulted in unknown state: no such file"},
	}
	for _, c := range problems {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *ward) {
				w.ask = func(n int) (int32, error) {
					if n < 2 || n > 3 {
						return 1, nil
					}
					return 0, fmt.Errorf("run: %w", c.err)
				}
				w.Set(key, []node.Probe{w.fresh(node.LivenessProbe)})
				w.rest(55 * s)
				w.wantWords("c1 Liveness fails at 40s") // two failures, twice nothing, the third
				told := fmt.Sprint(w.events)
				if errored := strings.Contains(told, "errored"); errored != (c.event != "") {
					t.Errorf("events are %s", told)
				}
			})
		})
	}
	t.Run("a command that takes too long is a failure", func(t *testing.T) {
		inBubble(t, func(w *ward) {
			w.ask = func(int) (int32, error) { return 0, context.DeadlineExceeded }
			w.Set(key, []node.Probe{w.fresh(node.LivenessProbe, thresholds(1, 1))})
			w.rest(s)
			w.wantWords("c1 Liveness fails at 0s")
			w.wantEvents("Unhealthy x1 Liveness probe failed: command timed out: \"ask\" timed out after 1s")
		})
	})
}

func TestEventsOfABrokenPodAreBounded(t *testing.T) {
	inBubble(t, func(w *ward) {
		w.ask = answers(7)
		w.Set(key, []node.Probe{w.fresh(node.ReadinessProbe)})
		w.rest(3*time.Minute + 5*s)
		const message = "Readiness probe failed: out"
		w.wantEvents(
			"Unhealthy x1 "+message, "Unhealthy x1 "+message, "Unhealthy x1 "+message, "Unhealthy x1 "+message, "Unhealthy x1 "+message,
			"Unhealthy x2 "+message, "Unhealthy x6 "+message, "Unhealthy x6 "+message,
		)
		if e := w.events[0]; e.Key != key || e.UID != "u1" || e.Container != "app" || !e.Warning {
			t.Errorf("event = %+v", e)
		}
	})
}

func TestLongOutputIsCut(t *testing.T) {
	if got := short(" " + strings.Repeat("ä", longest)); len(got) > longest+8 || !strings.HasSuffix(got, "...") || strings.ContainsRune(got, 0xFFFD) {
		t.Errorf("short is %d bytes: %q", len(got), got[len(got)-20:])
	}
}
