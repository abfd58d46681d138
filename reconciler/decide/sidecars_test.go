package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestSidecarsOfAPodThatIsOver(t *testing.T) {
	two := func(s *scene) { sidecar("first")(s); sidecar("second")(s) }
	const waits = "why sidecar first ends after what it serves; done"
	testStep(t, retire, []stepCase{
		{"while an application container runs they stay", pod(never, two, ready, running("first"), running("app")), ""},
		{"while one will be restarted they stay", pod(always, two, ready, running("first"), exited("app", 1)), ""},
		{"while it is not understood how one ended they stay", pod(never, two, ready, running("first"), exited("app", 0, unlearned)), ""},
		{"they end in reverse order, within one grace period", pod(never, two, ready, running("first"), running("second"), exited("app", 0)),
			"stop second second-0 grace=29s: the pod has finished; wake in 29s; " + waits},
		{"the first follows when the second has ended", pod(never, two, ready, running("first"), exited("second", 143), exited("app", 0)),
			"stop first first-0 grace=29s: the pod has finished; why waiting for containers to end; done"},
		{"a failed init container ends them", pod(never, two, initially("setup"), ready, running("first"), exited("setup", 1)),
			"stop first first-0 grace=29s: the pod has finished; why waiting for containers to end; done"},
		{"nothing is left to do when all have ended", pod(never, two, ready, exited("first", 0), exited("app", 0)), ""},
	})
}

func TestSidecarsOfAPodThatAProbeEnds(t *testing.T) {
	failed := node.Health{Failed: node.LivenessProbe, FailedAt: ago(3)}
	hung := func(s *scene) { health(failed)(s); noted(failed)(s) }
	ruled := func(s *scene) {
		s.slot.Pod.Object.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{}}
	}
	const hooked = "wake in 27s; why waiting for the preStop hook of container mate"
	testPod(t, []stepCase{
		{"their preStop hooks run beside its own", pod(never, busybody, pulled, ready, running("mate"), running("app"), hung),
			"run preStop hook of mate mate-0 until 12:00:27: the pod has finished; stop app app-0 grace=30s: Container app failed liveness probe; " + hooked},
		{"one that has ended meanwhile does not begin again", pod(never, busybody, pulled, ready, exited("mate", 1), running("app"), hung),
			"stop app app-0 grace=30s: Container app failed liveness probe"},
		{"nor while the end of the last run is not understood", pod(never, busybody, pulled, ready, exited("mate", 1), exited("app", 143, unlearned), hung),
			"inspect app app-0"},
		{"nor one whose hook has ended", pod(never, busybody, pulled, ready, run("mate", node.ContainerRunning, hooksEnded), running("app"), hung),
			"stop app app-0 grace=30s: Container app failed liveness probe"},
		{"they stay while another container runs", pod(never, busybody, also("other"), pulled, ready, running("mate"), running("other"), running("app"), hung),
			"stop app app-0 grace=30s: Container app failed liveness probe"},
		{"or while a rule may have it run again", pod(never, ruled, busybody, pulled, ready, running("mate"), running("app"), hung),
			"stop app app-0 grace=30s: Container app failed liveness probe"},
		{"or while a client has it run again", pod(never, busybody, pulled, ready, running("mate"), running("app"), hung, restartOf("app", 0)),
			"stop app app-0 grace=30s: a restart was asked for"},
	})
}

func hooksEnded(c *node.Container) { c.Hooks.Ended, c.Hooks.Until = true, now.Add(27e9) }

func TestSidecarsInADeletion(t *testing.T) {
	two := func(s *scene) { sidecar("first")(s); sidecar("second")(s) }
	testStep(t, stopContainers, []stepCase{
		{"they wait for the application", pod(always, two, ready, running("first"), running("second"), running("app"), deleted(10, 30)),
			"stop app app-0 grace=20s: deleted; wake in 20s; why sidecar second ends after what it serves; done"},
		{"they wait for what may still run", pod(always, two, ready, running("first"), run("app", node.ContainerUnknown), deleted(10, 30)),
			"stop app app-0 grace=20s: deleted; wake in 20s; why sidecar first ends after what it serves; done"},
		{"then the last one goes first", pod(always, two, ready, running("first"), running("second"), exited("app", 0), deleted(10, 30)),
			"stop second second-0 grace=20s: deleted; wake in 20s; why sidecar first ends after what it serves; done"},
		{"an init container that runs goes before them", pod(always, two, initially("setup"), ready, running("first"), running("setup"), deleted(0, 30)),
			"stop setup setup-0 grace=30s: deleted; wake in 30s; why sidecar first ends after what it serves; done"},
		{"when the time is over all go", pod(always, two, ready, running("first"), running("app"), deleted(30, 30)),
			"stop app app-0 grace=0s: deleted; stop first first-0 grace=0s: deleted; why waiting for containers to end; done"},
	})
}
