package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// added is an ephemeral container that looks into another one, if that is named.
func added(name, target string) option {
	return func(s *scene) {
		list := &s.slot.Pod.Object.Spec.EphemeralContainers
		*list = append(*list, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon(spec(name)), TargetContainerName: target,
		})
	}
}

func begun(name string) option {
	return func(s *scene) { s.slot.Tallies[name] = node.Tally{Begun: true} }
}

func TestEphemeralContainers(t *testing.T) {
	debug := added("debug", "")
	elsewhere := func(c *node.Container) { c.SandboxID = "lost" }
	uninspected := func(c *node.Container) { c.Inspected = false }
	testStep(t, ephemeral, []stepCase{
		{"without a sandbox it waits", pod(always, debug, pulledAll), ""},
		{"it is made as soon as its image is there", pod(always, debug, ready, pulledAll), "create debug attempt=0 in s0"},
		{"it does not wait for init containers", pod(always, initially("setup"), debug, ready, pulledAll, running("setup")), "create debug attempt=0 in s0"},
		{"its beginning is journalled before", pod(always, debug, ready, created("debug")), "tally debug restarts=0 streak=0"},
		{"then it is started", pod(always, debug, ready, created("debug"), begun("debug")), "start debug debug-0"},
		{"what its start was is learnt", pod(always, debug, ready, run("debug", node.ContainerRunning, uninspected), begun("debug")), "inspect debug debug-0"},
		{"while it runs nothing is done", pod(always, debug, ready, running("debug"), begun("debug")), ""},
		{"when it has ended it stays so", pod(always, debug, ready, pulledAll, exited("debug", 1), begun("debug")), ""},
		{"when nothing is left of it, too", pod(always, debug, ready, pulledAll, begun("debug")), ""},
		{"made in a sandbox that was lost it is made anew", pod(always, debug, ready, run("debug", node.ContainerCreated, elsewhere), begun("debug")), "remove debug debug-0"},
		{"it waits for the container that it looks into", pod(always, added("debug", "app"), ready, pulledAll, exited("app", 0)),
			"why ephemeral container debug waits for container app to run"},
		{"it joins that", pod(always, added("debug", "app"), ready, pulledAll, running("app")), "create debug attempt=0 in s0 joining app-0"},
		{"a pod that is over starts none", pod(never, debug, ready, pulledAll, exited("app", 0)), ""},
	})
}

func TestEphemeralContainersEndWithTheirPod(t *testing.T) {
	debug := added("debug", "")
	testPod(t, []stepCase{
		{"they do not keep it alive", pod(never, debug, ready, exited("app", 0), running("debug"), begun("debug")),
			"stop debug debug-0 grace=29s: the pod has finished; why waiting for containers to end"},
		{"how they end is learnt before the pod is settled", pod(never, debug, ready, exited("app", 0), exited("debug", 1, unlearned), begun("debug")),
			"inspect debug debug-0"},
		{"how they ended does not count", pod(never, debug, ready, exited("app", 0), exited("debug", 1), begun("debug")), "settle Succeeded"},
		{"in a deletion they go with the application", pod(always, sidecar("proxy"), debug, ready, running("proxy"), running("app"), running("debug"), begun("debug"), deleted(0, 30)),
			"stop debug debug-0 grace=30s: deleted; stop app app-0 grace=30s: deleted; wake in 30s; why sidecar proxy ends after what it serves"},
	})
}
