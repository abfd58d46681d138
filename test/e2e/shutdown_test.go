package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/fakelogind"
	"nodal/test/pace"
)

// lastWords is a pod whose container takes a while to end when it is asked to.
func lastWords(name string, seconds string) pod {
	p := shell(name, "trap 'sleep "+seconds+"; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
	p.grace = 30
	return p
}

// critical makes the pod of a manifest critical.
func critical(manifest string) string {
	return strings.Replace(manifest, "spec:\n", "spec:\n  priorityClassName: system-node-critical\n", 1)
}

// waitTerminated waits until a pod has ended for a shutdown, and returns when its container did.
func (n *node) waitTerminated(name string) time.Time {
	n.t.Helper()
	p := n.wait(name, name+" has ended for the shutdown", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "Terminated"
	})
	if p.Status.Message != "Pod was terminated in response to imminent node shutdown." {
		n.t.Errorf("%s says %q", name, p.Status.Message)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "TerminationByKubelet" {
			return containerStatus(p, "main").State.Terminated.FinishedAt.Time
		}
	}
	n.t.Errorf("the conditions of %s are %+v, want a DisruptionTarget", name, p.Status.Conditions)
	return time.Time{}
}

func TestPodsEndInOrderWhenTheMachineShutsDown(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"when the machine shuts down, ordinary pods end before critical ones, a pod ends after those that start after it, and logind waits for them",
		"these pods fail as Terminated, new ones are refused as NodeShutdown, and the node is not ready",
		"pods of the node run again after the reboot, and so do those that were posted meanwhile; a pod that may run only once does not",
	)
	claim.Shows(t, "Stats and metrics", "kubelet_graceful_shutdown_start_time_seconds and its end tell of the last shutdown, also after the reboot")
	logind := fakelogind.Start(t, time.Hour)
	n := prepare(t, func(c *agent.Config) {
		c.Settings["shutdownGracePeriod"], c.Settings["shutdownGracePeriodCriticalPods"] = "60s", "20s"
		c.Env = []string{"DBUS_SYSTEM_BUS_ADDRESS=" + logind.Address}
	})
	n.up()
	logind.Taken(t)
	once := lastWords("once", "0")
	once.restart = "Never"
	n.apply(lastWords("db", "0").yaml() + "---\n" + after(lastWords("web", "3").yaml(), "default/db") + "---\n" +
		critical(lastWords("vital", "0").yaml()) + "---\n" + once.yaml())
	for _, name := range []string{"db", "web", "vital", "once"} {
		n.waitRunning(name)
		n.waitHeedless(name)
	}

	logind.Announce(t, true)
	n.eventually("the node to shut down", n.shutsDown)
	n.apply(web("late").yaml())
	late := n.wait("late", "late is refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if late.Status.Reason != "NodeShutdown" || !strings.Contains(late.Status.Message, "Pod was rejected as the node is shutting down.") {
		t.Errorf("late is %+v, want NodeShutdown", late.Status)
	}
	shown := n.curl("/v1/node").body
	for _, want := range []string{`"cause":"logind"`, `"node is shutting down"`, `"name":"web"`} {
		if !strings.Contains(strings.ReplaceAll(shown, ": ", ":"), want) {
			t.Errorf("the node shows %s, want %s in it", shown, want)
		}
	}
	logind.Released(t, pace.Of(40*time.Second))
	ends := []time.Time{n.waitTerminated("web"), n.waitTerminated("db"), n.waitTerminated("vital")}
	if !ends[0].Before(ends[1]) && !ends[0].Equal(ends[1]) || ends[2].Before(ends[1]) {
		t.Errorf("web, db and vital ended at %v, want that order", ends)
	}
	n.waitTerminated("once")

	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	logind.Announce(t, false)
	n.up()
	for _, name := range []string{"db", "web", "vital", "late"} {
		p := n.waitRunning(name)
		if count := containerStatus(p, "main").RestartCount; name != "late" && count != 1 {
			t.Errorf("%s has restarted %d times, want once", name, count)
		}
	}
	if p := n.get("once"); p.Status.Phase != corev1.PodFailed || p.Status.Reason != "Terminated" {
		t.Errorf("once is %+v after the reboot, want it to stay as it is", p.Status)
	}
	found := n.metrics("/metrics")
	began, ended := n.sample(found, "kubelet_graceful_shutdown_start_time_seconds"), n.sample(found, "kubelet_graceful_shutdown_end_time_seconds")
	if began <= 0 || ended < began+2 || ended > began+60 {
		t.Errorf("the shutdown began at %f and ended at %f, want at least two seconds between them", began, ended)
	}
}

// shutsDown reports whether the node says that its machine shuts down.
func (n *node) shutsDown() bool {
	n.t.Helper()
	return strings.Contains(n.curl("/v1/node").body, `"shutdown"`)
}

func TestAShutdownThatIsCalledOffLetsPodsRunAgain(t *testing.T) {
	claim.Shows(t, "Pod lifecycle", "when a shutdown of the machine is called off, the pods that it has ended run again")
	logind := fakelogind.Start(t, time.Hour)
	n := prepare(t, func(c *agent.Config) {
		c.Settings["shutdownGracePeriodByPodPriority"] = []map[string]any{{"priority": 0, "shutdownGracePeriodSeconds": 30}}
		c.Env = []string{"DBUS_SYSTEM_BUS_ADDRESS=" + logind.Address}
	})
	n.up()
	logind.Taken(t)
	n.apply(lastWords("web", "0").yaml())
	before := n.waitRunning("web")
	n.waitHeedless("web")
	logind.Announce(t, true)
	n.waitTerminated("web")
	logind.Announce(t, false)
	if p := n.waitRunning("web"); p.UID != before.UID || containerStatus(p, "main").RestartCount != 1 {
		t.Errorf("web is %s and has restarted %d times, want %s and once", p.UID, containerStatus(p, "main").RestartCount, before.UID)
	}
	logind.Taken(t)
}

func TestSIGTERMMeansAShutdownIfThatIsSaid(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"with --shutdown-on-sigterm the kubelet ends its pods before it stops, and they run again at its next start")
	n := prepare(t, func(c *agent.Config) {
		c.Settings["shutdownGracePeriod"] = "10s"
		c.Flags = append(c.Flags, "--shutdown-on-sigterm")
		c.Env = []string{"DBUS_SYSTEM_BUS_ADDRESS=unix:path=" + filepath.Join(c.Dir, "no-bus")}
	})
	n.up()
	n.apply(lastWords("web", "1").yaml())
	n.waitRunning("web")
	n.waitHeedless("web")
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range n.containers("web") {
		if c.running {
			t.Errorf("after SIGTERM %+v runs", c)
		}
	}
	n.up()
	if p := n.waitRunning("web"); containerStatus(p, "main").RestartCount != 1 {
		t.Errorf("web has restarted %d times, want once", containerStatus(p, "main").RestartCount)
	}
}
