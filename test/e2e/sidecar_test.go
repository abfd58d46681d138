package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/claim"
)

// own gives one container of a manifest its own restart policy.
func own(manifest, container, policy string) string {
	return strings.Replace(manifest, "- name: "+container+"\n", "- name: "+container+"\n    restartPolicy: "+policy+"\n", 1)
}

func TestSidecarsServeTheApplicationAndEndAfterIt(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"sidecars start in order, each before what comes after it, and are restarted while the application runs",
		"sidecars end in reverse order after the application, and do not keep its pod alive",
	)
	n := start(t)
	serve := "trap 'exit 0' TERM; while :; do sleep 0.1; done"
	p := shell("served", "until [ -e /tmp/done ]; do sleep 0.1; done")
	p.restart, p.grace = "Never", 10
	p.init = []program{busybox("outer", serve), busybox("setup", "true"), busybox("inner", serve)}
	n.apply(own(own(p.yaml(), "outer", "Always"), "inner", "Always"))
	got := n.waitRunning("served")
	started := func(name string) int64 { return containerStatus(got, name).State.Running.StartedAt.UnixNano() }
	setup := containerStatus(got, "setup").State.Terminated
	if setup == nil || setup.StartedAt.UnixNano() < started("outer") || started("inner") < setup.FinishedAt.UnixNano() || started("main") < started("inner") {
		t.Errorf("the containers did not start in order: %+v", got.Status)
	}
	n.killContainer("served", "outer")
	n.wait("served", "the sidecar back", func(p *corev1.Pod) bool {
		s := containerStatus(p, "outer")
		return s.RestartCount == 1 && s.State.Running != nil && containerStatus(p, "main").RestartCount == 0
	})
	n.curl("/run/default/served/main", "-d", "cmd=touch /tmp/done")
	got = n.wait("served", "phase Succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	ended := func(name string) int64 { return containerStatus(got, name).State.Terminated.FinishedAt.UnixNano() }
	if ended("main") > ended("inner") || ended("inner") > ended("outer") {
		t.Errorf("the containers did not end in order: %+v", got.Status)
	}
}

func TestContainerPolicyOverridesThePods(t *testing.T) {
	claim.Shows(t, "Containers", "a container's own restart policy overrides the pod's")
	n := start(t)
	p := web("mixed")
	p.apps = append(p.apps, program{name: "once", args: []string{"exit", "3"}})
	n.apply(own(p.yaml(), "once", "Never"))
	got := n.wait("mixed", "one container ended for good", func(p *corev1.Pod) bool {
		return containerStatus(p, "main").State.Running != nil && containerStatus(p, "once").State.Terminated != nil
	})
	if s := containerStatus(got, "once"); s.State.Terminated.ExitCode != 3 || s.RestartCount != 0 || got.Status.Phase != corev1.PodRunning {
		t.Errorf("the phase is %s and the container %+v, want Running and an end with code 3", got.Status.Phase, s)
	}
}

func TestContainerThatVanishesIsReplaced(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "a container that vanishes from the runtime counts as ended with code 137, ContainerStatusUnknown, and is replaced")
	n := start(t)
	n.apply(web("taken").yaml())
	n.waitRunning("taken")
	id := n.containers("taken")[0].id
	// A running agent would see the container end before it is gone.
	signal := func(s unix.Signal) {
		if err := unix.Kill(n.Pid(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(unix.SIGSTOP)
	defer signal(unix.SIGCONT)
	if _, err := n.rt.CRI().RemoveContainer(t.Context(), &runtimev1.RemoveContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	signal(unix.SIGCONT)
	got := n.wait("taken", "a replacement", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 1 && ready(p) })
	last := containerStatus(got, "main").LastTerminationState.Terminated
	if last == nil || last.ExitCode != 137 || last.Reason != "ContainerStatusUnknown" {
		t.Errorf("the last run ended as %+v, want code 137 and ContainerStatusUnknown", last)
	}
	if got := n.sandboxes("taken"); got != 1 {
		t.Errorf("the pod has %d sandboxes, want the same one", got)
	}
}
