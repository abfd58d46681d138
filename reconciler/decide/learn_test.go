package decide

import (
	"testing"

	"nodal/node"
)

func TestLearn(t *testing.T) {
	testStep(t, learn, []stepCase{
		{"a run that ended is asked about", pod(always, ready, exited("app", 0, unlearned)), "inspect app app-0"},
		{"what is known is not asked again", pod(always, ready, exited("app", 0)), ""},
		{"a run that goes on is not its business", pod(always, ready, running("app")), ""},
		{"an init container is asked about, though it is long past",
			pod(always, initially("setup"), ready, exited("setup", 0, unlearned), running("app")), "inspect setup setup-0"},
		{"the run before the newest is shown too", pod(always, ready, exited("app", 0, unlearned), running("app")), "inspect app app-0"},
		{"older runs are shown to nobody",
			pod(always, ready, exited("app", 0, unlearned), exited("app", 1), exited("app", 1)), ""},
		{"without an answer it rests", pod(always, ready, exited("app", 0, unlearned), fault("inspect/app-0", 2)), "wake in 2s; why Broken"},
		{"and asks again", pod(always, ready, exited("app", 0, unlearned), fault("inspect/app-0", 0)), "inspect app app-0"},
	})
}

func TestNoteLost(t *testing.T) {
	lost := pod(always, ready, exited("app", 137, attempt(3))).got.Containers
	vanished := func(s *scene) { s.got.Lost = lost }
	testStep(t, noteLost, []stepCase{
		{"there is nothing to note of what is there", pod(always, ready, running("app")), ""},
		{"a run that vanished is noted", pod(always, ready, vanished), "note the loss of app attempt=3"},
		{"once", pod(always, ready, vanished, func(s *scene) { s.slot.Lost = lost }), ""},
		{"so is the next", pod(always, ready, vanished, func(s *scene) { s.slot.Lost = []node.Container{{UID: "u1", Name: "app", ID: "app-2"}} }),
			"note the loss of app attempt=3"},
		{"a stranger's is not", pod(always, ready, func(s *scene) { s.got.Lost = []node.Container{{UID: "u0", Name: "app", ID: "app-9"}} }), ""},
	})
}
