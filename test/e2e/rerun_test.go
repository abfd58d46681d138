package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// killSandbox kills the process that keeps a pod's sandbox alive.
func (n *node) killSandbox(pod string) {
	n.t.Helper()
	list, err := n.rt.CRI().ListPodSandbox(n.t.Context(), &runtimev1.ListPodSandboxRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.Metadata.Name != pod || s.State != runtimev1.PodSandboxState_SANDBOX_READY {
			continue
		}
		reply, err := n.rt.CRI().PodSandboxStatus(n.t.Context(), &runtimev1.PodSandboxStatusRequest{PodSandboxId: s.Id, Verbose: true})
		if err != nil {
			n.t.Fatal(err)
		}
		var info struct{ Pid int }
		if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil || info.Pid == 0 {
			n.t.Fatalf("sandbox %s has no process (%v)", s.Id, err)
		}
		if err := unix.Kill(info.Pid, unix.SIGKILL); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestPodWhoseSandboxDiesStartsOverInAnother(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"a pod whose sandbox dies starts over in another one: its containers end, init containers run again, and the restart is counted",
		"a pod with restartPolicy Never whose sandbox dies does not run again",
	)
	n := start(t)
	again := n.hooked("again", "terminationGracePeriodSeconds: 5").
		list("initContainers").runs("setup", says("init")).
		list("containers").runs("main", onTerm("term")+says("main")+"; "+loop).
		apply()
	once := n.hooked("once", "restartPolicy: Never\n  terminationGracePeriodSeconds: 5").
		list("containers").runs("main", onTerm("term")+says("main")+"; "+loop).
		apply()
	before := n.waitRunning("again")
	n.waitRunning("once")
	again.tells("main")
	once.tells("main")
	n.killSandbox("again")
	n.killSandbox("once")
	after := n.wait("again", "another run", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 1 && ready(p) })
	if after.UID != before.UID || !after.Status.StartTime.Equal(before.Status.StartTime) {
		t.Errorf("it is pod %s of %s, want the same as before, %s of %s", after.UID, after.Status.StartTime, before.UID, before.Status.StartTime)
	}
	again.tells("init, main, term, init, main")
	n.wait("once", "its end", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	once.wantStory("main, term")
	n.deletePod("again", "")
	n.deletePod("once", "")
}

func TestFailedInitContainersAreRetried(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"an init container that fails is restarted under Always and OnFailure until it succeeds, and no other container starts before",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
	})
	pods := map[string]*hooked{}
	for _, policy := range []string{"Always", "OnFailure"} {
		name := strings.ToLower(policy)
		pods[name] = n.hooked(name, "terminationGracePeriodSeconds: 1\n  restartPolicy: "+policy).
			list("initContainers").runs("first", says("first")+"; [ -e /story/go ]").runs("second", says("second")).
			list("containers").runs("main", says("main")+"; "+loop).
			apply()
	}
	for name, h := range pods {
		p := n.wait(name, "a second failure", func(p *corev1.Pod) bool {
			s := containerStatus(p, "first")
			return s.RestartCount > 0 && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
		})
		if p.Status.Phase != corev1.PodPending || condition(p, corev1.PodInitialized) != corev1.ConditionFalse {
			t.Errorf("pod %s is %s, Initialized %s; want Pending and False", name, p.Status.Phase, condition(p, corev1.PodInitialized))
		}
		h.lets("go")
	}
	for name, h := range pods {
		n.waitRunning(name)
		h.tells("main")
		if got, after := h.story(), strings.ReplaceAll(h.story(), "first, ", ""); !strings.HasPrefix(got, "first, first, first, ") || after != "second, main" {
			t.Errorf("the story of %s is %q, want the first until it succeeds, then the others once", name, got)
		}
	}
}

func TestHooksDoNotRunWhenNotDue(t *testing.T) {
	claim.Shows(t, "Deletion",
		"a preStop hook is not run for a container that ends by itself, nor when the grace period is zero",
	)
	claim.Shows(t, "Pod lifecycle",
		"a changed image restarts its container whatever the restart policy says",
		"a changed image does not restart a container that has ended for good",
	)
	n := start(t)
	hook := "  preStop: " + command(says("hook"))
	ending := n.hooked("ending", "restartPolicy: Never").list("containers").
		runs("main", says("main"), "lifecycle:", hook).apply()
	hasty := n.hooked("hasty", "terminationGracePeriodSeconds: 30").list("containers").
		runs("main", says("main")+"; "+loop, "lifecycle:", hook).apply()
	once := pod{name: "once", restart: "Never", apps: []program{{name: "main", args: []string{"pause"}}, {name: "step", args: []string{"exit", "0"}}}}
	n.apply(once.yaml())
	done := n.wait("ending", "its end", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if got := condition(done, corev1.PodReadyToStartContainers); got != corev1.ConditionFalse {
		t.Errorf("condition PodReadyToStartContainers of a pod that has ended is %q, want False", got)
	}
	n.deletePod("ending", "")
	ending.wantStory("main")
	n.waitRunning("hasty")
	hasty.tells("main")
	n.deletePod("hasty", "?gracePeriodSeconds=0")
	hasty.wantStory("main")

	n.wait("once", "the end of its step", func(p *corev1.Pod) bool {
		return containerStatus(p, "step").State.Terminated != nil && containerStatus(p, "main").State.Running != nil
	})
	once.apps[0].image, once.apps[1].image = "nodal.test/probe:2", "nodal.test/probe:2"
	n.changed("/v1/manifests", once.yaml()).is(t, "UPDATED", "main")
	p := n.wait("once", "the new image", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount == 1 && s.State.Running != nil
	})
	if got := containerStatus(p, "step"); got.RestartCount != 0 || got.State.Terminated == nil {
		t.Errorf("what had ended is %+v, want it left at that", got)
	}
	if got := containerStatus(p, "main").Image; !strings.Contains(got, "probe:2") {
		t.Errorf("it runs image %q, want version 2", got)
	}
}
