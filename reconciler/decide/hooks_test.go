package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// hooks gives a container hooks that run a command.
func hooks(name string, kinds ...node.HookKind) option {
	return func(s *scene) {
		hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"do"}}}
		for c := range node.Containers(&s.slot.Pod.Object.Spec) {
			if c.Name != name {
				continue
			}
			c.Lifecycle = &corev1.Lifecycle{}
			for _, kind := range kinds {
				if kind == node.PostStart {
					c.Lifecycle.PostStart = hook
				} else {
					c.Lifecycle.PreStop = hook
				}
			}
		}
	}
}

// asking has the hooks of app ask the pod over HTTP.
func asking(s *scene) {
	hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}
	s.slot.Pod.Object.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook, PreStop: hook}
}

// noting is a run on which the hooks of its container are noted.
func noting(hooks option) func(*node.Container) {
	return func(c *node.Container) { c.Hooked = &pod(always, hooks).slot.Pod.Object.Spec.Containers[0] }
}

func uninspected(s *node.Sandbox) { s.Inspected = false }

func fresh(c *node.Container) { c.Hooks.Fresh = true }

// leaving is a run whose preStop hook was begun a second ago, with ten to go.
func leaving(c *node.Container) { c.Hooks.Until, c.Hooks.Reason = now.Add(10*time.Second), "it had to" }

// ended is one of which it has ended too.
func ended(c *node.Container) { leaving(c); c.Hooks.Ended = true }

func TestPostStart(t *testing.T) {
	app := hooks("app", node.PostStart)
	done := node.Health{Hooked: ago(3)}
	testStep(t, postStart, []stepCase{
		{"a container without one runs none", pod(always, ready, run("app", node.ContainerRunning, fresh)), ""},
		{"a run that has begun has its hook run", pod(always, app, ready, run("app", node.ContainerRunning, fresh)), "run postStart hook of app app-0"},
		{"one that was found may have had it run", pod(always, app, ready, running("app")), "run postStart hook of app app-0 again"},
		{"once it has ended it is not run again", pod(always, app, ready, running("app"), health(done)), ""},
		{"nor once it has failed", pod(always, app, ready, running("app"), health(node.Health{Failed: node.FailedHook})), ""},
		{"the next run has its own", pod(always, app, ready, exited("app", 1), health(done), run("app", node.ContainerRunning, fresh)), "run postStart hook of app app-1"},
		{"what does not run has none run", pod(always, app, ready, created("app")), ""},
		{"nor what is to end", pod(always, app, ready, running("app"), newImage), ""},
		{"nor what has begun to", pod(always, app, ready, run("app", node.ContainerRunning, leaving)), ""},
		{"nor what has lost its sandbox", pod(always, app, gone, running("app")), ""},
		{"a request waits for the pod's address", pod(always, asking, ready, running("app")), ""},
		{"and is made when that is known", pod(always, asking, ready, at("10.0.0.1"), running("app")), "run postStart hook of app app-0 again"},
		{"without an answer it rests", pod(always, app, ready, running("app"), fault("postStart/app-0", 2)), "wake in 2s; why Broken"},
	})
}

func TestContainersAndProbesWaitForAPostStartHook(t *testing.T) {
	const waits = "why waiting for the postStart hook of container app"
	app, first := hooks("app", node.PostStart), hooks("proxy", node.PostStart)
	done := node.Health{Hooked: ago(3)}
	testStep(t, containers, []stepCase{
		{"the containers after it", pod(always, also("side"), app, ready, pulled), "create app attempt=0 in s0; " + waits},
		{"until it has begun", pod(always, also("side"), app, ready, pulled, created("app")), "start app app-0; " + waits},
		{"and until it has ended", pod(always, also("side"), app, ready, pulled, running("app")), waits},
		{"which has to be noted", pod(always, also("side"), app, ready, pulled, running("app"), health(done)), waits},
		{"then they begin", pod(always, also("side"), app, ready, pulled, running("app"), health(done), noted(done)), "create side attempt=0 in s0"},
		{"not those before it", pod(always, also("side"), hooks("side", node.PostStart), ready, pulled),
			"create app attempt=0 in s0; create side attempt=0 in s0"},
		{"not for one that cannot be made", pod(always, also("side"), app, ready, pulled, fault("container/app", 4)),
			"create side attempt=0 in s0; wake in 4s; why Broken"},
		{"not for one whose hook has failed", pod(always, also("side"), app, ready, pulled, running("app"), health(node.Health{Failed: node.FailedHook})),
			"create side attempt=0 in s0"},
		{"not for one that has ended for good", pod(never, also("side"), app, ready, pulled, exited("app", 0)), "create side attempt=0 in s0"},
		{"not for one that rests after a crash", pod(always, also("side"), app, ready, pulled, exited("app", 1, attempt(1)), tally("app", 1, 1)),
			"create side attempt=0 in s0; wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"but for one that is to begin again", pod(always, also("side"), app, ready, pulled, exited("app", 1), tally("app", 1, 1)),
			"create app attempt=1 in s0; " + waits},
		{"what runs goes on", pod(always, also("side"), app, ready, running("app"), running("side"), func(s *scene) {
			s.slot.Pod.Object.Spec.Containers[1].Image = "side:2"
		}), "ask restart of side attempt=0"},
	})
	testStep(t, initContainers, []stepCase{
		{"what comes after a sidecar", pod(always, sidecar("proxy"), first, ready, pulled, running("proxy")), "why waiting for init container proxy; done"},
	})
}

func TestPreStopComesFirst(t *testing.T) {
	app := hooks("app", node.PreStop)
	const hook = "run preStop hook of app app-0 until 12:00:30: Container app definition changed, will be restarted; wake in 30s; why waiting for the preStop hook of container app"
	late := func(c *node.Container) { ended(c); c.Hooks.Until = ago(1) }
	inFlight := busy(node.RunHook{Kind: node.PreStop, ID: "app-0", Until: now.Add(4 * time.Second), Reason: "it had to"})
	testStep(t, containers, []stepCase{
		{"a run that is to end has its hook run", pod(always, app, ready, running("app"), newImage, restartOf("app", 0)), hook},
		{"the time goes on while it runs", pod(always, app, ready, running("app"), inFlight, newImage, restartOf("app", 0)),
			"run preStop hook of app app-0 until 12:00:04: it had to; wake in 4s; why waiting for the preStop hook of container app"},
		{"then the signal has what is left", pod(always, app, ready, run("app", node.ContainerRunning, ended), newImage, restartOf("app", 0)), "stop app app-0 grace=10s: it had to"},
		{"which may be nothing", pod(always, app, ready, run("app", node.ContainerRunning, late), newImage, restartOf("app", 0)), "stop app app-0 grace=0s: it had to"},
		{"a hook without an answer is run again within the same time", pod(always, app, ready, run("app", node.ContainerRunning, leaving), newImage, restartOf("app", 0)),
			"run preStop hook of app app-0 until 12:00:10: it had to; wake in 10s; why waiting for the preStop hook of container app"},
		{"what has begun to end ends, even if it is wanted", pod(always, app, ready, run("app", node.ContainerRunning, ended)), "stop app app-0 grace=10s: it had to"},
		{"in a state that is not known none is run", pod(always, app, ready, run("app", node.ContainerUnknown)), "stop app app-0 grace=30s: its state is unknown"},
	})
	hung := func(kind node.ProbeKind) option {
		return func(s *scene) {
			health(node.Health{Failed: kind})(s)
			noted(node.Health{Failed: kind})(s)
		}
	}
	testStep(t, condemned, []stepCase{
		{"a probe's own grace period holds for the hook", pod(always, probed(liveness), app, ready, running("app"), hung(liveness)),
			"run preStop hook of app app-0 until 12:00:05: Container app failed liveness probe, will be restarted; wake in 5s; why waiting for the preStop hook of container app"},
		{"a hook that has failed condemns like a probe", pod(always, hooks("app", node.PostStart), ready, running("app"), hung(node.FailedHook)),
			"stop app app-0 grace=30s: FailedPostStartHook, will be restarted"},
	})
	testStep(t, sandbox, []stepCase{
		{"a lost sandbox is no reason to go without", pod(always, app, gone, running("app")),
			"run preStop hook of app app-0 until 12:00:30: its sandbox is gone; wake in 30s; why waiting for the preStop hook of container app; done"},
	})
}

func TestPreStopInADeletion(t *testing.T) {
	both := func(s *scene) {
		sidecar("proxy")(s)
		hooks("proxy", node.PreStop)(s)
		hooks("app", node.PreStop)(s)
	}
	testStep(t, stopContainers, []stepCase{
		{"all hooks are run at once", pod(always, both, ready, running("proxy"), running("app"), deleted(10, 30)),
			"run preStop hook of app app-0 until 12:00:20: deleted; run preStop hook of proxy proxy-0 until 12:00:20: deleted; " +
				"wake in 20s; why waiting for the preStop hook of container app; done"},
		{"the signal comes in turn", pod(always, both, ready, run("proxy", node.ContainerRunning, ended), run("app", node.ContainerRunning, ended), deleted(10, 30)),
			"stop app app-0 grace=20s: deleted; wake in 20s; why sidecar proxy ends after what it serves; done"},
		{"a hook that hangs is waited for no longer", pod(always, both, ready, run("app", node.ContainerRunning, leaving), deleted(30, 30)),
			"stop app app-0 grace=0s: deleted; why waiting for containers to end; done"},
		{"without any grace none is run", pod(always, both, ready, running("app"), deleted(0, 0)),
			"stop app app-0 grace=0s: deleted; why waiting for containers to end; done"},
		{"an address that is not known is learnt first", pod(always, both, asking, box(node.SandboxReady, uninspected), running("app"), running("proxy"), deleted(10, 30)),
			"run preStop hook of proxy proxy-0 until 12:00:20: deleted; inspect sandbox s0; wake in 20s; why waiting for the preStop hook of container proxy; done"},
		{"nor in what has ended", pod(always, both, ready, exited("app", 0), deleted(0, 30)), ""},
		{"another pod's hooks are not this one's", pod(always, both, ready, running("app"), stranger, deleted(0, 30)), ""},
	})
	const own = "run preStop hook of app app-0 until 12:00:07: its pod is not wanted; wake in 7s; why waiting for the preStop hook of container app; done"
	testStep(t, strays, []stepCase{
		{"another pod's hooks are not this one's", pod(always, both, ready, running("app"), stranger),
			"stop app app-0 grace=7s: its pod is not wanted; why waiting for containers to end; done"},
		{"it has its own run, as far as they were noted", pod(always, ready, run("app", node.ContainerRunning, noting(both)), stranger), own},
		{"at its own address, which is learnt first", pod(always, box(node.SandboxReady, uninspected), run("app", node.ContainerRunning, noting(asking)), stranger),
			"inspect sandbox s0; wake in 7s; why waiting for the preStop hook of container app; done"},
		{"and then asked", pod(always, ready, at("10.0.0.1"), run("app", node.ContainerRunning, noting(asking)), stranger), own},
	})
}

// A hook that hangs keeps no pod from its result.
func TestSettleBesideAHook(t *testing.T) {
	testStep(t, settle, []stepCase{
		{"it is settled", pod(never, ready, exited("app", 0), busy(node.RunHook{Kind: node.PostStart, ID: "app-0"})), "settle Succeeded"},
	})
}
