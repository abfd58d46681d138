package decide

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestAPodWaitsForThoseBeforeIt(t *testing.T) {
	lost := func(s *scene) { s.got.Sandboxes[0].State = node.SandboxNotReady }
	const waits = "why it starts after default/db (it is not ready)"
	testPod(t, []stepCase{
		{"nothing of it is prepared", pod(always, behind("db", "it is not ready")), waits},
		{"it names all that it waits for", pod(always, behind("db", "it is not ready"), behind("web", "it has failed")),
			"why it starts after default/db (it is not ready), default/web (it has failed)"},
		{"what has a sandbox goes on", pod(always, ready, pulled, behind("db", "it is not ready")), "create app attempt=0 in s0"},
		{"a sandbox that was lost is stopped before the pod waits", pod(always, ready, lost, behind("db", "it is not ready")),
			"stop sandbox s0"},
		{"containers that outlived their sandbox end before the pod waits",
			pod(always, ready, running("app"), lost, behind("db", "it is not ready")),
			"stop app app-0 grace=30s: its sandbox is gone"},
		{"it waits again for its next sandbox", pod(always, gone, exited("app", 1), behind("db", "it is not ready")), waits},
		{"a deletion does not wait", pod(always, deleted(0, 30), behind("db", "it is not ready")), "tear down volumes"},
	})
}

// TestBehind says of each state of another pod whether one that starts after it has to wait.
func TestBehind(t *testing.T) {
	ending := func(s *scene) { s.slot.Termination = &node.Termination{Reason: "Evicted"} }
	result := func(phase corev1.PodPhase, reason string) option {
		return func(s *scene) { s.slot.Result = &corev1.PodStatus{Phase: phase, Reason: reason} }
	}
	shut := func(s *scene) {
		s.slot.Pod.Object.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	}
	succeeded := func(s *scene) { s.slot.Next = &node.Pod{} }
	for _, c := range []struct {
		name  string
		other *scene
		want  string
		stuck bool
	}{
		{"a pod that is ready", pod(always, ready, running("app")), "", false},
		{"a pod without a sandbox", pod(always), "it is not ready", false},
		{"a pod whose container has ended", pod(always, ready, exited("app", 0)), "it is not ready", false},
		{"a pod whose probe has not succeeded", pod(always, probed(node.ReadinessProbe), ready, running("app")), "it is not ready", false},
		{"a pod whose readiness gate is shut", pod(always, shut, ready, running("app")), "it is not ready", false},
		{"a pod that has succeeded", pod(never, result(corev1.PodSucceeded, "")), "", false},
		{"a pod whose success is not recorded yet", pod(never, ready, exited("app", 0)), "it is not ready", false},
		{"a pod that has failed", pod(never, result(corev1.PodFailed, "")), "it has failed", true},
		{"a pod that was refused", pod(always, result(corev1.PodFailed, "OutOfcpu")), "it has failed: OutOfcpu", true},
		{"a pod that is made to end", pod(always, ready, running("app"), ending), "it is made to end: Evicted", true},
		{"a pod that is being deleted", pod(always, ready, running("app"), deleted(0, 30)), "it is being deleted", true},
		{"a pod that is being replaced", pod(always, ready, running("app"), deleted(0, 30), succeeded), "it is being deleted", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, self := node.Key{Namespace: "default", Name: "db"}, pod(always)
			got := Behind(site, self.slot, self.got, []node.Key{db}, func(node.Key) (*node.Slot, *node.Observed) {
				return c.other.slot, c.other.got
			})
			var want []node.Unready
			if c.want != "" {
				want = []node.Unready{{Key: db, Why: c.want, Stuck: c.stuck}}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestWhoWaits says which pods wait for one that the node does not have.
func TestWhoWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		pod   *scene
		waits bool
	}{
		{"a new pod", pod(always), true},
		{"a pod whose sandbox was lost", pod(always, gone, exited("app", 1)), true},
		{"a pod with a sandbox", pod(always, ready), false},
		{"a pod that has finished", pod(always, finished), false},
		{"a pod that is being deleted", pod(always, deleted(0, 30)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			missing := func(node.Key) (*node.Slot, *node.Observed) { return nil, nil }
			got := Behind(site, c.pod.slot, c.pod.got, []node.Key{{Namespace: "default", Name: "db"}}, missing)
			if waits := len(got) == 1 && got[0].Why == "this node does not have it" && got[0].Stuck; waits != c.waits {
				t.Errorf("it waits for %+v, want it to wait: %t", got, c.waits)
			}
		})
	}
}
