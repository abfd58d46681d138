package decide

import (
	"testing"
	"time"

	"nodal/node"
)

func TestContainers(t *testing.T) {
	ranFor := func(d time.Duration) func(*node.Container) {
		return func(c *node.Container) { c.StartedAt = c.FinishedAt.Add(-d) }
	}
	neverStarted := func(c *node.Container) { c.ExitCode, c.StartedAt = 128, time.Time{} }
	outOfOrder := func(c *node.Container) { c.StartedAt = c.FinishedAt.Add(time.Microsecond) }
	fresh := func(c *node.Container) { c.Inspected = false }
	vanished := func(name string, n uint32) option {
		return func(s *scene) {
			s.got.Lost = pod(always, ready, exited(name, 137, attempt(n))).got.Containers
		}
	}
	inVain := func(times int32) option {
		return func(s *scene) {
			s.got.Faults[node.ContainerTarget("app")] = node.Fault{Reason: node.RunContainerError, Count: times, At: ago(1)}
		}
	}
	anew := func(s *scene) { s.got.Containers[0].CreatedAt = ago(0) }
	testStep(t, containers, []stepCase{
		{"nothing begins without a sandbox", pod(always, pulled), ""},
		{"nothing begins without its image", pod(always, ready), ""},
		{"a container is created", pod(always, ready, pulled), "create app attempt=0 in s0"},
		{"containers are created side by side", pod(always, also("side"), ready, pulled), "create app attempt=0 in s0; create side attempt=0 in s0"},
		{"a container that could not be created rests", pod(always, ready, pulled, fault("container/app", 4)), "wake in 4s; why Broken"},
		{"one that was created is started", pod(always, ready, created("app")), "start app app-0"},
		{"one that was created for a lost sandbox is removed", pod(always, ready, created("app"), func(s *scene) {
			s.got.Sandboxes[0].ID = "s9"
		}), "remove app app-0"},
		{"one that does not start is started again", pod(always, ready, created("app"), inVain(triedEnough-1)), "start app app-0"},
		{"one that does not start time and again is removed", pod(always, ready, created("app"), inVain(triedEnough)), "remove app app-0"},
		{"the one that is made in its place is started", pod(always, ready, created("app"), inVain(triedEnough), anew), "start app app-0"},
		{"one that was created from another image is removed", pod(always, ready, created("app"), newImage), "remove app app-0"},
		{"one that was started is looked at", pod(always, ready, run("app", node.ContainerRunning, fresh)), "inspect app app-0"},
		{"one that runs is left alone", pod(always, ready, running("app")), ""},
		{"one in an unknown state is ended", pod(always, ready, run("app", node.ContainerUnknown)), "stop app app-0 grace=30s: its state is unknown"},
		{"one that runs from another image is to restart", pod(never, ready, running("app"), newImage), "ask restart of app attempt=0"},
		{"and is ended once that is noted", pod(never, ready, running("app"), newImage, restartOf("app", 0)), "stop app app-0 grace=30s: Container app definition changed, will be restarted"},
		{"another follows it under Never, however it has ended", pod(never, ready, exited("app", 0), newImage, restartOf("app", 0)), "tally app restarts=1 streak=0"},
		{"one from an unknown spec is not taken for another", pod(always, ready, run("app", node.ContainerRunning, func(c *node.Container) { c.Hash = "" })), ""},
		{"a restart that was asked for ends it", pod(never, ready, running("app"), restartOf("app", 0)), "stop app app-0 grace=30s: a restart was asked for"},
		{"a restart that was asked for happens once", pod(never, ready, exited("app", 0), running("app"), restartOf("app", 0)), ""},
		{"nothing follows a run that is not understood", pod(always, ready, exited("app", 0, unlearned)), ""},

		{"a restart is counted before it happens", pod(always, ready, pulled, exited("app", 1)), "tally app restarts=1 streak=1"},
		{"a restart that is counted happens", pod(always, ready, pulled, exited("app", 1), tally("app", 1, 1)), "create app attempt=1 in s0"},
		{"a success is restarted under Always", pod(always, ready, exited("app", 0)), "tally app restarts=1 streak=1"},
		{"a success is final under OnFailure", pod(onFailure, ready, exited("app", 0)), ""},
		{"a failure is restarted under OnFailure", pod(onFailure, ready, exited("app", 3)), "tally app restarts=1 streak=1"},
		{"a failure is final under Never", pod(never, ready, exited("app", 3)), ""},
		{"of mixed ends under OnFailure only the failure is restarted", pod(onFailure, also("side"), ready, exited("app", 0), exited("side", 2)),
			"tally side restarts=1 streak=1"},

		{"the second crash waits 10 s from its end", pod(always, ready, exited("app", 1, attempt(1)), tally("app", 1, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"the third waits 20 s", pod(always, ready, exited("app", 1, attempt(2)), tally("app", 2, 2)),
			"wake in 19s; why container app crashed, its next restart is due at 12:00:19"},
		{"it never waits longer than 300 s", pod(always, ready, exited("app", 1, attempt(90)), tally("app", 90, 90)),
			"wake in 4m59s; why container app crashed, its next restart is due at 12:04:59"},
		{"a run of ten minutes makes good for the crashes before", pod(always, ready, exited("app", 1, attempt(9), ranFor(10*time.Minute)), tally("app", 9, 9)),
			"tally app restarts=10 streak=1"},
		{"a run of less does not", pod(always, ready, exited("app", 1, attempt(1), ranFor(10*time.Minute-time.Second)), tally("app", 1, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"one that never started ran for no time", pod(always, ready, exited("app", 128, attempt(1), neverStarted), tally("app", 1, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"nor did one whose end is told a moment before its start", pod(always, ready, exited("app", 1, attempt(1), outOfOrder), tally("app", 1, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"another image ends the pause and starts with a fresh record", pod(always, ready, exited("app", 1, attempt(5)), tally("app", 5, 5), newImage),
			"tally app restarts=6 streak=0"},
		{"another image runs nothing again that has ended under Never", pod(never, also("side"), ready, exited("app", 0), running("side"), newImage), ""},
		{"nor what has succeeded under OnFailure", pod(onFailure, also("side"), ready, exited("app", 0), running("side"), newImage), ""},
		{"a restart that was asked for ends the pause and keeps the record",
			pod(always, ready, exited("app", 1, attempt(5)), tally("app", 5, 5), restartOf("app", 5)), "tally app restarts=6 streak=5"},
		{"the attempt follows the tally when the runtime has lost the runs", pod(always, ready, pulled, tally("app", 4, 4)), "create app attempt=4 in s0"},
		{"the tally follows the attempt when the journal is behind", pod(always, ready, exited("app", 1, attempt(7)), tally("app", 3, 0)),
			"tally app restarts=8 streak=1"},
		{"a container that vanished counts as a run", pod(always, ready, pulled, vanished("app", 0)), "tally app restarts=1 streak=1"},
		{"its attempt is not used again", pod(always, ready, pulled, vanished("app", 3), tally("app", 4, 1)), "create app attempt=4 in s0"},
		{"a container that vanished is not restarted under Never", pod(never, ready, pulled, vanished("app", 0)), ""},
		{"a pod that could not begin runs nothing", pod(never, initially("setup"), ready, pulled, exited("setup", 1)), ""},
	})
}

func TestInitContainers(t *testing.T) {
	const waits = "why waiting for init container "
	newProxy := func(s *scene) { s.slot.Pod.Object.Spec.InitContainers[0].Image = "proxy:2" }
	testStep(t, initContainers, []stepCase{
		{"nothing begins without a sandbox", pod(always, initially("one"), pulled), ""},
		{"the first begins alone", pod(always, initially("one"), initially("two"), ready, pulled), "create one attempt=0 in s0; " + waits + "one; done"},
		{"the second waits for the first", pod(always, initially("one"), initially("two"), ready, pulled, running("one")), waits + "one; done"},
		{"the second waits until the end of the first is understood",
			pod(always, initially("one"), initially("two"), ready, pulled, exited("one", 0, unlearned)), waits + "one; done"},
		{"the second follows the success of the first", pod(always, initially("one"), initially("two"), ready, pulled, exited("one", 0)),
			"create two attempt=0 in s0; " + waits + "two; done"},
		{"all past, the application may begin", pod(always, initially("one"), ready, pulled, exited("one", 0)), ""},
		{"once an application container has begun they are past", pod(always, initially("one"), ready, exited("one", 1), running("app")), ""},
		{"a failure is tried again", pod(onFailure, initially("one"), ready, exited("one", 1)), "tally one restarts=1 streak=1; " + waits + "one; done"},
		{"a failure backs off", pod(always, initially("one"), ready, exited("one", 1, attempt(1)), tally("one", 1, 1)),
			"wake in 9s; why container one crashed, its next restart is due at 12:00:09; done"},
		{"a failure under Never is final", pod(never, initially("one"), initially("two"), ready, pulled, exited("one", 1)), ""},
		{"a new sandbox runs them again, counted and without a pause",
			pod(always, initially("one"), gone, exited("one", 0, attempt(3)), exited("app", 137), ready, tally("one", 3, 3)),
			"tally one restarts=4 streak=3; " + waits + "one; done"},
		{"so it does under Never", pod(never, initially("one"), gone, exited("one", 0), ready), "tally one restarts=1 streak=0; " + waits + "one; done"},
		{"one that was to end for another image runs again, also if it has ended well",
			pod(never, initially("one"), ready, pulled, exited("one", 0), restartOf("one", 0)), "tally one restarts=1 streak=0; " + waits + "one; done"},
		{"nor has the pod failed with it", pod(never, initially("one"), ready, pulled, exited("one", 143), restartOf("one", 0)),
			"tally one restarts=1 streak=0; " + waits + "one; done"},
		{"a sidecar begins in its turn", pod(always, initially("one"), sidecar("proxy"), ready, pulled, exited("one", 0)),
			"create proxy attempt=0 in s0; " + waits + "proxy; done"},
		{"a sidecar that has started lets the next begin and is looked after", pod(always, sidecar("proxy"), initially("one"), ready, pulled, running("proxy"), newProxy),
			"ask restart of proxy attempt=0; create one attempt=0 in s0; " + waits + "one; done"},
		{"a sidecar that crashes before it is past holds the next up", pod(never, sidecar("proxy"), initially("one"), ready, pulled, exited("proxy", 0)),
			"tally proxy restarts=1 streak=1; " + waits + "proxy; done"},
		{"a sidecar that crashes later holds nothing up",
			pod(never, sidecar("proxy"), initially("one"), initially("two"), ready, pulled, exited("proxy", 1), exited("one", 0)),
			"tally proxy restarts=1 streak=1; create two attempt=0 in s0; " + waits + "two; done"},
		{"a sidecar backs off", pod(always, sidecar("proxy"), ready, running("app"), exited("proxy", 0, attempt(1)), tally("proxy", 1, 1)),
			"wake in 9s; why container proxy crashed, its next restart is due at 12:00:09"},
		{"a sidecar begins again in a new sandbox", pod(never, sidecar("proxy"), gone, exited("proxy", 137), ready, pulled),
			"tally proxy restarts=1 streak=1; " + waits + "proxy; done"},
		{"a sidecar of a pod that is over stays down", pod(never, sidecar("proxy"), ready, exited("proxy", 1), exited("app", 0)), ""},
		{"another image of one that is past changes nothing", pod(always, initially("one"), ready, exited("one", 0), running("app"), func(s *scene) {
			s.slot.Pod.Object.Spec.InitContainers[0].Image = "one:2"
		}), ""},
	})
}
