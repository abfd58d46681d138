package decide

import (
	"testing"

	"nodal/node"
)

// awaiting is a pod for which another one ends.
func awaiting(s *scene) { s.slot.Pod.Awaits = []node.Life{{UID: "other"}} }

func TestAwaited(t *testing.T) {
	const why = "why waiting for the end of pods that make room for it"
	testPod(t, []stepCase{
		{"nothing of it begins while another one ends for it", pod(always, awaiting), why},
		{"its own deadline goes on", pod(always, awaiting, limited(60)), "terminate: DeadlineExceeded"},
		{"it may have to end before it has begun", pod(always, awaiting, doomed(1)), "settle Failed; why " + deadlineMessage},
	})
	testStep(t, awaited, []stepCase{
		{"a pod for which there is room does not wait", pod(always), ""},
	})
}
