package decide

import "testing"

func TestStrays(t *testing.T) {
	const why = "; why another pod of this name is still being removed; done"
	testStep(t, strays, []stepCase{
		{"nothing else under the name, nothing to do", pod(always, ready, running("app")), ""},
		{"another pod's containers end within what it allowed them", pod(always, ready, running("app"), stranger),
			"stop app app-0 grace=7s: its pod is not wanted; why waiting for containers to end; done"},
		{"then its sandbox is stopped", pod(always, ready, exited("app", 0), stranger), "stop sandbox s0" + why},
		{"then all of it is removed", pod(always, gone, exited("app", 0), stranger), "remove sandbox s0" + why},
		{"a removal that failed is waited for", pod(always, gone, stranger, fault("sandbox/s0", 2)), "wake in 2s; why Broken; done"},
	})
}

func TestPodWaitsForStrays(t *testing.T) {
	testPod(t, []stepCase{
		{"nothing of the pod is made before", pod(always, gone, stranger), "remove sandbox s0; why another pod of this name is still being removed"},
		{"a deleted pod removes them as well", pod(always, gone, stranger, deleted(1, 30)), "remove sandbox s0; why another pod of this name is still being removed"},
	})
}
