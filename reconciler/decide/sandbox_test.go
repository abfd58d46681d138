package decide

import (
	"testing"

	"nodal/node"
)

func TestSandbox(t *testing.T) {
	notLooked := func(s *node.Sandbox) { s.Inspected = false }
	lost := func(s *scene) { s.got.Sandboxes[0].State = node.SandboxNotReady }
	stop := func(s *scene) { s.got.Sandboxes[0].State, s.got.Sandboxes[0].Stopped = node.SandboxNotReady, true }
	testStep(t, sandbox, []stepCase{
		{"a new pod gets a sandbox", pod(always), "run sandbox attempt=0"},
		{"a sandbox that could not be made rests", pod(always, fault("sandbox", 3)), "wake in 3s; why Broken"},
		{"a sandbox is tried again when its rest is over", pod(always, fault("sandbox", 0)), "run sandbox attempt=0"},
		{"its addresses are learnt", pod(always, box(node.SandboxReady, notLooked)), "inspect sandbox s0"},
		{"one that is ready is left alone", pod(always, ready, running("app")), ""},
		{"one that was lost is stopped first, for it may hold the address", pod(always, ready, exited("app", 1), lost), "stop sandbox s0; done"},
		{"one that was lost is followed by the next", pod(always, gone, exited("app", 1)), "run sandbox attempt=1"},
		{"containers that outlived theirs end before anything else", pod(always, ready, running("app"), lost),
			"stop app app-0 grace=30s: its sandbox is gone; done"},
		{"the newest of two empty ones is kept", pod(always, ready, ready), "stop sandbox s0; done"},
		{"the older of two is kept when containers run in it", pod(always, ready, running("app"), ready), "stop sandbox s1; done"},
		{"a spare one that is down already does not hold anything up",
			pod(always, box(node.SandboxNotReady), ready), "stop sandbox s0"},

		{"a pod that never restarts gets another one when nothing ran", pod(never, gone), "run sandbox attempt=1"},
		{"a container that was only created counts as one that never ran", pod(never, ready, created("app"), stop), "run sandbox attempt=1"},
		{"a pod that never restarts gets no other one after its run", pod(never, gone, exited("app", 137)), ""},
		{"a pod that has succeeded needs none", pod(onFailure, gone, exited("app", 0)), ""},
		{"one failure under OnFailure needs another one", pod(onFailure, also("side"), gone, exited("app", 0), exited("side", 1)), "run sandbox attempt=1"},
		{"a success under Always needs another one", pod(always, gone, exited("app", 0)), "run sandbox attempt=1"},
		{"nothing is made before it is known how the runs ended", pod(onFailure, gone, exited("app", 0, unlearned)), ""},
		{"a restart that was asked for needs one whatever the policy", pod(never, gone, exited("app", 0), restartOf("app", 0)), "run sandbox attempt=1"},
		{"a restart that was asked for needs one whatever the policy", pod(never, gone, exited("app", 0), restartOf("app", 0)), "run sandbox attempt=1"},
		{"another image of what has ended needs none", pod(never, gone, exited("app", 0), newImage), ""},
		{"an init container that failed for good needs none", pod(never, initially("setup"), gone, exited("setup", 1)), ""},
		{"an init container that failed is tried in another one", pod(onFailure, initially("setup"), gone, exited("setup", 1)), "run sandbox attempt=1"},
	})
}
