package shutdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

const critical = 2_000_000_000

var began = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// twoPhases are those of shutdownGracePeriod 30s and shutdownGracePeriodCriticalPods 10s.
func twoPhases() []node.ShutdownPhase {
	return []node.ShutdownPhase{{Priority: 0, Period: 20 * time.Second}, {Priority: critical, Period: 10 * time.Second}}
}

func key(name string) node.Key { return node.Key{Namespace: "default", Name: name} }

func pod(name string, priority int32, grace time.Duration, after ...string) Pod {
	p := Pod{Key: key(name), Priority: priority, Grace: grace}
	for _, before := range after {
		p.After = append(p.After, key(before))
	}
	return p
}

// text prints a step: "phase 0 until 20s: end a by 10s; waits for a b; wake 20s".
func text(s Step) string {
	var ends, waits []string
	for _, e := range s.End {
		ends = append(ends, fmt.Sprintf("%s by %s", e.Key.Name, e.Until.Sub(began)))
	}
	for _, k := range s.Waits {
		waits = append(waits, k.Name)
	}
	if s.Done {
		return strings.TrimSpace("done: end " + strings.Join(ends, ", "))
	}
	return fmt.Sprintf("phase %d until %s: end %s; wait for %s; wake %s",
		s.Phase, s.Until.Sub(began), strings.Join(ends, ", "), strings.Join(waits, ", "), s.Wake.Sub(began))
}

func TestNext(t *testing.T) {
	gone := func(p Pod) Pod { p.Gone, p.Until = true, began; return p }
	ends := func(p Pod, by time.Duration) Pod { p.Until = began.Add(by); return p }
	for _, test := range []struct {
		name   string
		phases []node.ShutdownPhase
		at     time.Duration
		from   Progress
		pods   []Pod
		want   string
	}{
		{"no pods", twoPhases(), 0, Progress{0, began}, nil, "done: end"},
		{
			"ordinary pods end first, within their own grace or that of the phase", twoPhases(), 0, Progress{0, began},
			[]Pod{pod("short", 0, 5*time.Second), pod("long", 100, time.Minute), pod("vital", critical, time.Minute)},
			"phase 0 until 20s: end long by 20s, short by 5s; wait for long, short; wake 20s",
		},
		{
			"critical pods end once all others are gone", twoPhases(), 3 * time.Second, Progress{0, began},
			[]Pod{gone(pod("a", 0, time.Minute)), pod("vital", critical+1000, time.Minute)},
			"phase 1 until 13s: end vital by 13s; wait for vital; wake 13s",
		},
		{
			"critical pods end once the time of the others is used up", twoPhases(), 20 * time.Second, Progress{0, began},
			[]Pod{ends(pod("a", 0, time.Minute), 20*time.Second), pod("vital", critical, 4*time.Second)},
			"phase 1 until 30s: end vital by 24s; wait for vital; wake 30s",
		},
		{
			"a clock that was set back gives a pod no more than its phase", twoPhases(), -4 * time.Minute, Progress{0, began},
			[]Pod{pod("long", 0, time.Minute)},
			"phase 0 until -3m40s: end long by -3m40s; wait for long; wake -3m40s",
		},
		{
			"a pod that came late has what is left of its phase", twoPhases(), 15 * time.Second, Progress{0, began},
			[]Pod{pod("late", 0, time.Minute)},
			"phase 0 until 20s: end late by 20s; wait for late; wake 20s",
		},
		{
			"a pod that came after its phase ends at once", twoPhases(), 22 * time.Second, Progress{1, began.Add(20 * time.Second)},
			[]Pod{pod("late", 0, time.Minute), ends(pod("vital", critical, time.Minute), 30*time.Second)},
			"phase 1 until 30s: end ; wait for vital; wake 30s",
		},
		{
			"nothing is waited for when all time is used up", twoPhases(), 30 * time.Second, Progress{1, began.Add(20 * time.Second)},
			[]Pod{ends(pod("vital", critical, time.Minute), 30*time.Second), pod("late", 0, time.Minute)},
			"done: end late by 30s",
		},
		{
			"a pod that ends already is hurried to the end of the phase", twoPhases(), 0, Progress{0, began},
			[]Pod{ends(pod("deleted", 0, time.Minute), time.Minute), ends(pod("other", 0, time.Minute), 3*time.Second)},
			"phase 0 until 20s: end deleted by 20s; wait for deleted, other; wake 20s",
		},
		{
			"an agent that starts again does not prolong the shutdown", twoPhases(), 25 * time.Second, Progress{0, began},
			[]Pod{gone(pod("a", 0, time.Minute)), pod("vital", critical, time.Minute)},
			"phase 1 until 30s: end vital by 30s; wait for vital; wake 30s",
		},
		{
			"each group of priorities has its own time; those below all groups end with the lowest",
			[]node.ShutdownPhase{{Priority: 10, Period: time.Second}, {Priority: 1000, Period: 2 * time.Second}}, 0, Progress{0, began},
			[]Pod{pod("lowest", -5, time.Minute), pod("low", 999, time.Minute), pod("high", 1000, time.Minute), pod("top", 9999, time.Minute)},
			"phase 0 until 1s: end low by 1s, lowest by 1s; wait for low, lowest; wake 1s",
		},
		{
			"a phase without time ends its pods at once",
			[]node.ShutdownPhase{{Priority: 0}, {Priority: critical, Period: 9 * time.Second}}, 0, Progress{0, began},
			[]Pod{pod("a", 0, time.Minute), pod("vital", critical, time.Minute)},
			"phase 1 until 9s: end a by 0s, vital by 9s; wait for vital; wake 9s",
		},
		{
			"a pod that another one starts after ends after it, and has its own time", twoPhases(), 0, Progress{0, began},
			[]Pod{pod("db", 0, 5*time.Second), pod("web", 0, 8*time.Second, "db")},
			"phase 0 until 20s: end web by 8s; wait for db, web; wake 15s",
		},
		{
			"it ends as soon as the other one is gone", twoPhases(), 2 * time.Second, Progress{0, began},
			[]Pod{pod("db", 0, 5*time.Second), gone(pod("web", 0, 8*time.Second, "db"))},
			"phase 0 until 20s: end db by 7s; wait for db; wake 20s",
		},
		{
			"it ends when the other one has used up its time", twoPhases(), 16 * time.Second, Progress{0, began},
			[]Pod{pod("db", 0, 5*time.Second), ends(pod("web", 0, time.Minute, "db"), 16*time.Second)},
			"phase 0 until 20s: end db by 20s; wait for db, web; wake 20s",
		},
		{
			"a chain shares the time of a phase that is too short for it", twoPhases(), 0, Progress{0, began},
			[]Pod{pod("a", 0, 20*time.Second), pod("b", 0, 20*time.Second, "a"), pod("c", 0, time.Minute, "b")},
			"phase 0 until 20s: end c by 6.666666668s; wait for a, b, c; wake 6.666666668s",
		},
		{
			"an ordinary pod that a critical one starts after ends after that, with the critical ones", twoPhases(), 0, Progress{0, began},
			[]Pod{pod("db", 0, 2*time.Second), pod("vital", critical, 5*time.Second, "db"), pod("web", 0, time.Second)},
			"phase 0 until 20s: end web by 1s; wait for web; wake 20s",
		},
		{
			"a circle ends nonetheless", twoPhases(), 0, Progress{0, began},
			[]Pod{pod("a", 0, time.Second, "b"), pod("b", 0, time.Second, "a")},
			"phase 0 until 20s: end b by 1s; wait for a, b; wake 19s",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Next(Situation{
				Phases: test.phases, Began: began, Progress: test.from, Pods: slices.Clone(test.pods), Now: began.Add(test.at),
			})
			if text(got) != test.want {
				t.Errorf("got  %s\nwant %s", text(got), test.want)
			}
		})
	}
}
