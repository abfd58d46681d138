package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/agent"
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

func TestSidecarsOfAPodThatAProbeEnds(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"while a pod ends because a probe has condemned its last container, its sidecars' preStop hooks run beside that one's; no sidecar is probed or begins again",
		"a container that a rule restarts in a pod with restartPolicy Never does not make init containers run again",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
	})
	const probe = "livenessProbe: {periodSeconds: 1, failureThreshold: 1, exec: {command: [sh, -c, %q]}}"
	ends := n.hooked("ends", "restartPolicy: Never\n  terminationGracePeriodSeconds: 60").
		list("initContainers").
		runs("mate", onTerm("mate ends")+says("mate")+"; "+loop, "restartPolicy: Always",
			"lifecycle:", "  preStop: "+command(says("mate hook")+"; until [ -e /story/over ]; do sleep 0.1; done"),
			fmt.Sprintf(probe, "[ ! -e /story/hook ] || echo asked >>/story/asked")).
		runs("frail", says("frail")+"; until [ -e /story/crash ]; do sleep 0.1; done", "restartPolicy: Always").
		list("containers").
		runs("main", onTerm("main ends")+loop,
			"lifecycle:", "  preStop: "+command("touch /story/hook; "+says("main hook")+"; until [ -e /story/over ]; do sleep 0.1; done"),
			fmt.Sprintf(probe, "[ ! -e /story/hang ]")).
		apply()
	rules := n.hooked("rules", "restartPolicy: Never\n  terminationGracePeriodSeconds: 1").
		list("initContainers").runs("first", says("first")).
		list("containers").
		runs("main", says("main")+"; until [ -e /story/go ]; do sleep 0.1; done; rm /story/go; exit 42",
			"restartPolicy: Never", "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]").
		apply()
	n.waitRunning("ends")
	ends.lets("hang")
	ends.tells("main hook")
	ends.tells("mate hook")
	ends.lets("crash") // the other sidecar ends meanwhile
	n.wait("ends", "a sidecar's end", func(p *corev1.Pod) bool { return containerStatus(p, "frail").State.Running == nil })
	rules.lets("go")
	n.wait("rules", "another run", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 1 && ready(p) })
	rules.lets("go")
	n.wait("rules", "one more", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 2 && ready(p) })
	rules.tells("main, main, main")
	rules.wantStory("first, main, main, main")
	ends.lets("over")
	p := n.wait("ends", "phase Succeeded or Failed", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	if got := ends.story(); strings.Count(got, "frail") != 1 || !strings.HasSuffix(got, "main ends, mate ends") {
		t.Errorf("the story is %q, want one run of each sidecar, and mate's end after main's", got)
	}
	if got := containerStatus(p, "frail").RestartCount; got != 0 {
		t.Errorf("the sidecar that ended was restarted %d times", got)
	}
	if asked, err := os.ReadFile(filepath.Join(ends.dir, "asked")); len(asked) > len("asked\n") { // one may be under way
		t.Errorf("the sidecar was probed meanwhile: %q, %v", asked, err)
	}
	n.deletePod("rules", "")
}

func TestASidecarThatFailsItsLivenessProbeIsRestartedAlone(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"a sidecar that fails its liveness probe is restarted alone; its startup probe comes before its other probes again, and the pod is ready with it")
	n := start(t)
	const probe = "{periodSeconds: 1, timeoutSeconds: 60, failureThreshold: %d, exec: {command: [sh, -c, %q]}}"
	early := "[ -e /story/started ] || " + says("early") + "; "
	ill := n.hooked("ill", "terminationGracePeriodSeconds: 5").
		list("initContainers").
		runs("first", onTerm("first ends")+"rm -f /story/started /story/ill; "+says("first")+"; "+loop, "restartPolicy: Always",
			"startupProbe: "+fmt.Sprintf(probe, 1000, "[ -e /story/begun ] && touch /story/started && "+says("begun")),
			"livenessProbe: "+fmt.Sprintf(probe, 1, early+"[ ! -e /story/ill ]"),
			"readinessProbe: "+fmt.Sprintf(probe, 1, early+"true")).
		runs("setup", says("setup")).
		runs("second", says("second")+"; "+loop, "restartPolicy: Always").
		list("containers").
		runs("main", says("main")+"; "+loop).
		apply()
	ill.tells("first")
	ill.lets("begun")
	before := n.waitRunning("ill")
	ill.tells("main")
	if err := os.Remove(filepath.Join(ill.dir, "begun")); err != nil { // the next run begins when it is there again
		t.Fatal(err)
	}
	ill.lets("ill")
	during := n.wait("ill", "the sidecar's next run", func(p *corev1.Pod) bool {
		s := containerStatus(p, "first")
		return s.RestartCount == 1 && s.State.Running != nil
	})
	s := containerStatus(during, "first")
	if s.Ready || *s.Started || ready(during) || condition(during, corev1.PodInitialized) != corev1.ConditionTrue || during.Status.Phase != corev1.PodRunning {
		t.Errorf("before its startup probe has succeeded the pod is %+v, want it running, initialised and not ready", during.Status)
	}
	ill.tells("first, begun, setup, second, main, first ends, first")
	ill.lets("begun")
	after := n.wait("ill", "the pod ready again", func(p *corev1.Pod) bool { return ready(p) && containerStatus(p, "first").Ready })
	for _, name := range []string{"setup", "second", "main"} {
		was, is := containerStatus(before, name), containerStatus(after, name)
		if is.RestartCount != 0 || is.ContainerID != was.ContainerID {
			t.Errorf("%s was %+v and is %+v, want the same run", name, was, is)
		}
	}
	ill.wantStory("first, begun, setup, second, main, first ends, first, begun")
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
