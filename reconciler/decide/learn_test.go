package decide

import "testing"

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
