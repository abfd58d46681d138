package decide

import "testing"

func TestPlan(t *testing.T) {
	testPod(t, []stepCase{
		{"a pod that is well needs nothing", pod(always, initially("setup"), ready, exited("setup", 0), running("app")), ""},
		{"the earliest wake counts", pod(always, also("side"), ready, exited("app", 1, attempt(2)), exited("side", 1, attempt(1)), tally("app", 2, 2), tally("side", 1, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:19"},
		{"one container that rests does not hold up another", pod(always, also("side"), ready, pulled, fault("container/app", 5)),
			"create side attempt=0 in s0; wake in 5s; why Broken"},
		{"what a restarted agent finds is learnt, not touched", pod(always, initially("setup"), ready,
			exited("setup", 0, unlearned), exited("app", 0, unlearned), running("app")), "inspect setup setup-0; inspect app app-0"},
		{"a pod of a newer agent's record is looked at and left alone",
			pod(always, newer, also("side"), ready, exited("app", 1, unlearned)),
			"inspect app app-0; why a newer agent wrote its record"},
		{"even if it is to be deleted", pod(always, newer, ready, deleted(1, 30), running("app")), "why a newer agent wrote its record"},
	})
}

// newer has a pod's record written by a newer agent.
func newer(s *scene) { s.slot.Newer = true }
