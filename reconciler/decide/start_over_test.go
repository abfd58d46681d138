package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// ruled has all containers start over when one ends with a code; its own policy is Never.
func ruled(name string, code int32) option {
	return func(s *scene) {
		policy := corev1.ContainerRestartPolicyNever
		for c := range node.Containers(&s.slot.Pod.Object.Spec) {
			if c.Name != name {
				continue
			}
			if c.RestartPolicy == nil {
				c.RestartPolicy = &policy
			}
			c.RestartPolicyRules = []corev1.ContainerRestartRule{{
				Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
			}}
		}
	}
}

// over marks the newest runs of containers as those after which all start over; app is why.
func over(names ...string) option {
	return func(s *scene) {
		for _, name := range names {
			s.slot.Pod.Restarts = append(s.slot.Pod.Restarts, node.Restart{
				Container: name, Attempt: s.got.Newest("u1", name).Attempt, All: true, Cause: name == "app",
			})
		}
	}
}

func TestStartOver(t *testing.T) {
	two := func(s *scene) { initially("setup")(s); sidecar("proxy")(s); also("side")(s); ruled("app", 42)(s) }
	begun := func(s *scene) { ready(s); exited("setup", 0)(s); running("proxy")(s); running("side")(s) }
	testStep(t, startOver, []stepCase{
		{"a code that no rule speaks of restarts nothing else", pod(always, two, begun, exited("app", 1)), ""},
		{"one that does is journalled first", pod(always, two, begun, exited("app", 42)), "start over after app; done"},
		{"a sidecar's rule counts too", pod(always, two, ruled("proxy", 7), ready, exited("setup", 0), exited("proxy", 7), running("app")), "start over after proxy; done"},
		{"an init container's too", pod(never, initially("setup"), ruled("setup", 3), ready, exited("setup", 3)), "start over after setup; done"},
		{"no pod starts over that has finished", pod(never, sidecar("proxy"), ruled("proxy", 0), ready, exited("proxy", 0), exited("app", 0)), ""},
		{"a restart that a client asked for is for one", pod(always, two, begun, exited("app", 42), restartOf("app", 0)), ""},
		{"what is left ends at once, all side by side", pod(always, two, begun, exited("app", 42), over("setup", "proxy", "app", "side")),
			"stop side side-0 grace=0s: all containers of the pod restart; stop proxy proxy-0 grace=0s: all containers of the pod restart; done"},
		{"what was only made goes", pod(always, two, ready, created("side"), over("side")), "remove side side-0; done"},
		{"then the pod goes on", pod(always, two, ready, exited("side", 137), exited("app", 42), over("app", "side")), ""},
	})
}

func TestPodBeginsAnewInItsSandbox(t *testing.T) {
	two := func(s *scene) { initially("setup")(s); also("side")(s); ruled("app", 42)(s); pulled(s) }
	ended := func(s *scene) {
		ready(s)
		exited("setup", 0)(s)
		exited("side", 137)(s)
		exited("app", 42)(s)
		over("setup", "side", "app")(s)
	}
	const waits = "why waiting for init container setup"
	testPod(t, []stepCase{
		{"init containers come first, counted as a restart", pod(never, two, ended), "tally setup restarts=1 streak=0; " + waits},
		{"they run again", pod(never, two, ended, tally("setup", 1, 0)), "create setup attempt=1 in s0; " + waits},
		{"what comes after waits for them", pod(never, two, ended, tally("setup", 1, 0), running("setup")), waits},
		{"what a late call has made does not pass for begun", pod(never, two, also("late"), pulled, ended, tally("setup", 1, 0), created("late")),
			"create setup attempt=1 in s0; " + waits},
		{"one that fails now fails the pod", pod(never, two, ended, tally("setup", 1, 0), exited("setup", 1)), "settle Failed"},
		{"then the application follows, also what succeeded or never restarts", pod(never, two, ended, tally("setup", 1, 0), exited("setup", 0)),
			"tally app restarts=1 streak=1; tally side restarts=1 streak=0"},
		{"who has it start over again and again waits longer each time", pod(never, two, ended, tally("setup", 1, 0), exited("setup", 0), tally("app", 0, 2), tally("side", 1, 0)),
			"create side attempt=1 in s0; wake in 19s; why container app crashed, its next restart is due at 12:00:19"},
	})
}
