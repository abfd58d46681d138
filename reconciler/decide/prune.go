package decide

import (
	"fmt"
	"time"

	"nodal/node"
)

// Ended is a run that has ended, and what becomes of it while its pod goes on.
type Ended struct {
	Run  *node.Container
	Goes bool
	From time.Time // when it may go; the zero time means at once
	Why  string    // it goes, or stays
}

// EndedRuns says which runs of a pod that have ended go. The newest run of each container and some before it stay: clients
// ask for their logs and exit codes. A container that a late call made beside one that is alive was never a run.
func EndedRuns(got *node.Observed, keep node.Retention) []Ended {
	var all []Ended
	newer := map[string]int{}
	for i := range got.Containers {
		c := &got.Containers[i]
		if c.State == node.ContainerCreated && got.Newest(c.UID, c.Name).Alive() {
			all = append(all, Ended{Run: c, Goes: true, Why: "a late call made it beside a run that is alive"})
			continue
		}
		if c.State == node.ContainerExited || newer[c.Name] > 0 && !c.Alive() { // the newest may be about to start
			all = append(all, judged(c, newer[c.Name], keep))
		}
		newer[c.Name]++
	}
	return all
}

// judged says what becomes of a run that has some newer ones.
func judged(c *node.Container, newer int, keep node.Retention) Ended {
	switch {
	case newer == 0:
		return Ended{Run: c, Why: "it is the newest run of its container: its exit code and its log are the container's"}
	case keep.Older < 0 || newer <= keep.Older:
		return Ended{Run: c, Why: "clients ask for the exit codes and the logs of some runs before the newest"}
	}
	e := Ended{Run: c, Goes: true, Why: fmt.Sprintf("its container has newer runs (%d), and keeps %d besides the newest", newer, keep.Older)}
	if keep.MinAge > 0 {
		e.From = c.CreatedAt.Add(keep.MinAge)
	}
	return e
}

// EmptySandboxes returns the sandboxes that have stopped before the newest one, and have no containers.
func EmptySandboxes(got *node.Observed) []*node.Sandbox {
	inSandbox := map[string]bool{}
	for i := range got.Containers {
		inSandbox[got.Containers[i].SandboxID] = true
	}
	var empty []*node.Sandbox
	for i := range got.Sandboxes {
		if s := &got.Sandboxes[i]; i > 0 && s.Stopped && !inSandbox[s.ID] {
			empty = append(empty, s)
		}
	}
	return empty
}

// prune removes runs and sandboxes that no reader needs any more. A run that is about to be inspected stays until then.
func prune(p *Plan, v *View) bool {
	for _, e := range EndedRuns(v.got, v.site.Keep()) {
		switch {
		case !e.Goes || p.plans(node.InspectContainer{ID: e.Run.ID}.Target()):
		case v.now.Before(e.From):
			p.wait(e.From, "a run that has ended has to be kept for a while")
		default:
			p.try(v, remove(e.Run))
		}
	}
	for _, s := range EmptySandboxes(v.got) {
		if s != v.sandbox {
			p.try(v, node.RemoveSandbox{ID: s.ID})
		}
	}
	return false
}
