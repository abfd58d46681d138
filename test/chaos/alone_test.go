package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/chance"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

const (
	blows = 3 // kills of the agent, of containerd, and of both together
	shims = 3 // shims that are killed
	tick  = "0.2"
)

var settle = pace.Of(30 * time.Second)

// TestChaosAlone kills the agent, containerd and shims of a node on its own runtime, in a random
// order, while pods count. Only pods whose shim was killed may restart. No number is missing from a
// log, except what containerd held when it was killed.
func TestChaosAlone(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"agent, containerd and shims of a node of one file are killed in any order under 30 pods: only the pods of a killed shim restart",
		"no log line is lost when the agent or other pods' shims are killed, or while containerd is down",
	)
	rig.Require(t)
	seed := chance.Number(t, "NODAL_CHAOS_SEED", int(time.Now().UnixNano()&0xffffff))
	t.Logf("NODAL_CHAOS_SEED=%d", seed)
	a := newAlone(t, rand.New(rand.NewPCG(uint64(seed), 0)))
	before := a.runs()
	strikes := slices.Concat(
		slices.Repeat([]func(){a.killAgent, a.killContainerd, a.killBoth}, blows), slices.Repeat([]func(){a.killShim}, shims))
	a.rand.Shuffle(len(strikes), func(i, j int) { strikes[i], strikes[j] = strikes[j], strikes[i] })
	for _, strike := range strikes {
		strike()
		chance.Pause(t.Context(), a.rand, time.Second)
	}
	a.d.Await("all run, those without their shim again", func(p daemon.Pods) bool {
		return p.Ready(a.names...) && !slices.ContainsFunc(a.names, func(name string) bool {
			return a.hit[name] && p[name].GetRestarts() == 0
		})
	})
	a.wantSameRuns(before)
	a.wantEveryNumber()
}

// alone is a node that was made from one file, under attack.
type alone struct {
	t     *testing.T
	d     *daemon.Daemon
	rand  *rand.Rand
	names []string
	uids  map[string]string
	hit   map[string]bool // pods whose shim was killed
	away  []span          // from each kill of containerd until it was gone
}

func newAlone(t *testing.T, rand *rand.Rand) *alone {
	t.Helper()
	before := rig.Snapshot()
	t.Cleanup(func() {
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
	a := &alone{t: t, d: daemon.StartAlone(t), rand: rand, names: podNames(0), uids: map[string]string{}, hit: map[string]bool{}}
	a.d.Import("busybox")
	var bundle strings.Builder
	for _, name := range a.names {
		fmt.Fprintf(&bundle, countingPod, name, tick)
	}
	reply, err := nodev1.NewManifestsServiceClient(a.d.Conn()).Apply(t.Context(), &nodev1.ApplyRequest{Manifest: bundle.String()})
	must(t, err)
	for _, o := range reply.GetOutcomes() {
		a.uids[o.GetName()] = o.GetUid()
	}
	a.d.Await("all pods are ready", func(p daemon.Pods) bool { return p.Ready(a.names...) })
	return a
}

// countingPod prints a number every tick, from 0 in each run.
const countingPod = `---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "i=0; while echo $i; do i=$((i+1)); sleep %s; done"]
`

func (a *alone) killAgent() {
	a.t.Log("kill the agent")
	a.d.Kill()
	a.d.Launch()
}

func (a *alone) killContainerd() {
	a.t.Log("kill containerd")
	began := time.Now()
	for _, pid := range a.processes("containerd") {
		must(a.t, unix.Kill(pid, unix.SIGKILL))
		// The agent may start the next one before the next look.
		for slices.Contains(a.processes("containerd"), pid) {
			wait(a.t.Context(), time.Millisecond)
		}
	}
	a.away = append(a.away, span{began, time.Now()})
}

// killBoth kills both; the next agent starts containerd again.
func (a *alone) killBoth() {
	a.t.Log("kill the agent and containerd")
	a.d.Kill()
	a.killContainerd()
	chance.Pause(a.t.Context(), a.rand, 500*time.Millisecond)
	a.d.Launch()
}

func (a *alone) killShim() {
	spared := slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return a.hit[name] })
	name := spared[a.rand.IntN(len(spared))]
	a.t.Log("kill the shim of " + name)
	a.hit[name] = true
	for _, p := range a.programs() {
		if p.uid == a.uids[name] {
			must(a.t, unix.Kill(p.parent, unix.SIGKILL))
			return
		}
	}
	a.t.Fatalf("no program of %s runs", name)
}

// runs returns the processes of the counting pods, by UID. A process that has just started may
// still be runc, so it waits for the program.
func (a *alone) runs() map[string]int {
	runs := map[string]int{}
	for deadline := time.Now().Add(settle); len(runs) < len(a.names) && time.Now().Before(deadline); {
		wait(a.t.Context(), 10*time.Millisecond)
		for _, p := range a.programs() {
			runs[p.uid] = p.pid
		}
	}
	return runs
}

// wantSameRuns checks that a container that was not struck still has its process, and no other.
func (a *alone) wantSameRuns(before map[string]int) {
	a.t.Helper()
	now := a.runs()
	if all := a.programs(); len(all) != len(now) {
		a.t.Errorf("%d programs run in %d pods", len(all), len(now))
	}
	for _, name := range a.names {
		was, is := before[a.uids[name]], now[a.uids[name]]
		if is == 0 || was == 0 || (was == is) == a.hit[name] {
			a.t.Errorf("%s ran as process %d and runs as %d; its shim was killed: %t\n%s", name, was, is, a.hit[name], a.d.LogOf(name))
		}
	}
}
