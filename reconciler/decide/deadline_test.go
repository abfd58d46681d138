package decide

import (
	"testing"
	"time"

	"nodal/node"
)

// limited lets a pod, which was accepted a minute ago, run for so many seconds.
func limited(seconds int64) option {
	return func(s *scene) { s.slot.Pod.Object.Spec.ActiveDeadlineSeconds = &seconds }
}

// doomed is a pod of which it was journalled so many seconds ago that it has to end.
func doomed(seconds int) option {
	return func(s *scene) {
		s.slot.Termination = &node.Termination{Requested: ago(seconds), Reason: deadlineExceeded, Message: deadlineMessage}
	}
}

// evicted is a pod that was evicted so many seconds ago, and has less time to end than
// it asks for.
func evicted(seconds int) option {
	return func(s *scene) {
		s.slot.Termination = &node.Termination{Requested: ago(seconds), Reason: node.Evicted, Grace: 5 * time.Second}
	}
}

func TestDeadline(t *testing.T) {
	testStep(t, deadline, []stepCase{
		{"a pod without one runs for ever", pod(always, ready, running("app")), ""},
		{"before it nothing happens", pod(always, limited(61), ready, running("app")), "wake in 1s"},
		{"then it is journalled first", pod(always, limited(60), ready, running("app")), "terminate: DeadlineExceeded; done"},
		{"one that was lowered below what has passed is over at once", pod(always, limited(5), ready, running("app")), "terminate: DeadlineExceeded; done"},
		{"a pod that has not begun is no exception", pod(always, limited(60)), "terminate: DeadlineExceeded; done"},
		{"what has finished keeps its result", pod(never, limited(60), ready, exited("app", 0)), ""},
		{"what may have finished is understood first", pod(never, limited(60), ready, exited("app", 0, unlearned)), ""},
		{"a crash is no end", pod(always, limited(60), ready, exited("app", 1)), "terminate: DeadlineExceeded; done"},
		{"a record that the disk refused rests", pod(always, limited(60), ready, running("app"), fault("pod", 3)), "wake in 3s; why Broken; done"},
		{"it is journalled once", pod(always, limited(60), ready, running("app"), doomed(1)), ""},
	})
}

// returning is a pod that ends for a shutdown since so many seconds, and has ended if halted.
func returning(seconds int, halted bool) option {
	return func(s *scene) {
		s.slot.Termination = &node.Termination{
			Requested: ago(seconds), Reason: node.Terminated, Message: "down", Grace: 5 * time.Second, Returns: true, Halted: halted,
		}
	}
}

func TestAPodThatReturnsIsHalted(t *testing.T) {
	testPod(t, []stepCase{
		{"its containers have the time of the shutdown", pod(always, returning(4, false), ready, running("app")),
			"stop app app-0 grace=1s: Terminated; why waiting for containers to end"},
		{"then its sandbox ends, and no result is recorded", pod(always, returning(4, false), ready, exited("app", 0)),
			"stop sandbox s0; why down"},
		{"that nothing of it runs is noted", pod(always, returning(4, false)), "note that it is halted; why down"},
		{"once", pod(always, returning(4, true)), "why down"},
	})
}

func TestTerminated(t *testing.T) {
	const why = "why " + deadlineMessage + "; done"
	testPod(t, []stepCase{
		{"its containers have what is left of the grace period", pod(always, doomed(4), ready, running("app")),
			"stop app app-0 grace=26s: DeadlineExceeded; why waiting for containers to end"},
		{"sidecars end after what they serve", pod(always, sidecar("proxy"), doomed(4), ready, running("proxy"), running("app")),
			"stop app app-0 grace=26s: DeadlineExceeded; wake in 26s; why sidecar proxy ends after what it serves"},
		{"after the grace period nothing is waited for", pod(always, doomed(30), ready, running("app")),
			"stop app app-0 grace=0s: DeadlineExceeded; why waiting for containers to end"},
		{"whoever ends it may give it less", pod(always, evicted(4), ready, running("app")),
			"stop app app-0 grace=1s: Evicted; why waiting for containers to end"},
		{"how they ended is learnt", pod(always, doomed(4), ready, exited("app", 0, unlearned)),
			"inspect app app-0; why " + deadlineMessage},
		{"then the pod has failed, whatever they ended with", pod(always, doomed(4), ready, exited("app", 0)), "settle Failed; why " + deadlineMessage},
		{"a pod that never began has failed too", pod(always, doomed(4)), "settle Failed; why " + deadlineMessage},
		{"nothing is begun any more", pod(always, doomed(4), ready, pulled, exited("app", 1), busy(node.EnsureImage{Container: "side"})), "why " + deadlineMessage},
		{"a deletion goes its own way", pod(always, doomed(4), ready, running("app"), deleted(0, 10)),
			"stop app app-0 grace=10s: deleted; why waiting for containers to end"},
	})
	testStep(t, terminated, []stepCase{
		{"a pod that nobody ends goes on", pod(always, ready, running("app")), ""},
		{"nothing else happens", pod(always, doomed(4)), "settle Failed; " + why},
	})
}
