package decide

import (
	"testing"

	"nodal/node"
)

func TestTeardown(t *testing.T) {
	noSandbox := func(s *scene) { s.got.Sandboxes = nil }
	testPod(t, []stepCase{
		{"containers end within what is left of the grace period", pod(always, also("side"), ready, running("app"), running("side"), deleted(10, 30)),
			"stop side side-0 grace=20s: deleted; stop app app-0 grace=20s: deleted; why waiting for containers to end"},
		{"after the grace period they are killed", pod(always, ready, running("app"), deleted(40, 30)),
			"stop app app-0 grace=0s: deleted; why waiting for containers to end"},
		{"one in an unknown state is ended too", pod(always, ready, run("app", node.ContainerUnknown), deleted(0, 30)),
			"stop app app-0 grace=30s: deleted; why waiting for containers to end"},
		{"a stop that failed rests", pod(always, ready, running("app"), deleted(0, 30), fault("stop/app-0", 1)), "wake in 1s; why Broken"},
		{"how the others ended is learnt meanwhile", pod(always, also("side"), ready, running("app"), exited("side", 1, unlearned), deleted(0, 30)),
			"inspect side side-0; stop app app-0 grace=30s: deleted; why waiting for containers to end"},
		{"the sandbox follows the containers", pod(always, ready, exited("app", 0), deleted(0, 30)), "stop sandbox s0"},
		{"a container that was only created holds nothing up", pod(always, ready, created("app"), deleted(0, 30)), "stop sandbox s0"},
		{"the end of a container is learnt before it is removed", pod(always, gone, exited("app", 0, unlearned), deleted(0, 30)), "inspect app app-0"},
		{"what cannot be learnt is not asked for ever", pod(always, gone, exited("app", 0, unlearned), deleted(0, 30), fault("inspect/app-0", 9)), "remove sandbox s0"},
		{"a stopped sandbox is removed with what is in it", pod(always, gone, exited("app", 0), deleted(0, 30)), "remove sandbox s0"},
		{"containers without a sandbox are removed one by one", pod(always, ready, exited("app", 0), noSandbox, deleted(0, 30)), "remove app app-0"},
		{"then the volumes go", pod(always, deleted(0, 30)), "tear down volumes"},
		{"but not while one is being laid out", pod(always, deleted(0, 30), busy(node.SetUpVolume("v", ""))), "why waiting until this has ended: set up volume v"},
		{"volumes that are busy keep the name", pod(always, deleted(0, 30), fault("volumes", 2)), "wake in 2s; why Broken"},
		{"the logs go last", pod(always, deleted(0, 30), without(node.Volumes)), "tear down logs"},
		{"then the name is free", pod(always, deleted(0, 30), without(node.Volumes), without(node.Logs)), "release"},
		{"a name that could not be freed rests", pod(always, deleted(0, 30), without(node.Volumes), without(node.Logs), fault("pod", 8)), "wake in 8s; why Broken"},
		{"a finished pod is torn down like any other", pod(never, finished, gone, exited("app", 0), deleted(0, 30)), "remove sandbox s0"},
	})
}

func TestFinishedPod(t *testing.T) {
	const rests = "why the pod has finished"
	testPod(t, []stepCase{
		{"its sandbox is stopped", pod(never, finished, ready, exited("app", 0)), "stop sandbox s0; " + rests},
		{"its volumes go", pod(never, finished, gone, exited("app", 0)), "tear down volumes; " + rests},
		{"its containers stay for their logs", pod(never, finished, gone, exited("app", 0), without(node.Volumes)), rests},
		{"nothing in it begins anew", pod(always, finished, without(node.Volumes)), rests},
		{"what runs in it nevertheless is ended", pod(never, finished, ready, running("app")), "stop app app-0 grace=30s: the pod has finished; why waiting for containers to end"},
	})
}
