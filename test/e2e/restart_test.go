package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// mixed returns pods of all kinds that a restart must leave alone.
func mixed() []pod {
	done := runs("done", "exit", "0")
	done.restart = "Never"
	pair := pod{name: "pair", apps: []program{{name: "main", args: []string{"http", "8080"}}, {name: "beside", args: []string{"tick", "50ms"}}}}
	pair.init = []program{{name: "setup", args: []string{"exit", "0"}}}
	return []pod{web("plain"), pair, done, runs("failing", "exit", "1", "100ms")}
}

// settle waits until the pods of mixed have reached their final states.
func (n *node) settle() {
	n.t.Helper()
	n.waitRunning("plain")
	n.waitRunning("pair")
	n.wait("done", "done at its end", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	n.wait("failing", "failing in its backoff", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount >= 1 && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
	})
}

// healthy returns the runs of the pods that do not fail by themselves.
func (n *node) healthy() string {
	n.t.Helper()
	running := n.running()
	for c := range running {
		if c.pod == "failing" {
			delete(running, c)
		}
	}
	return fmt.Sprint(running)
}

// unmoved fails if the first message about a pod after the restart shows it as not ready.
func (n *node) unmoved(names ...string) {
	n.t.Helper()
	for _, name := range names {
		n.wait(name, name+" as it was", func(p *corev1.Pod) bool {
			if !ready(p) {
				n.t.Errorf("after a restart pod %s is shown as %s, ready %s", name, p.Status.Phase, condition(p, corev1.PodReady))
			}
			return true
		})
	}
}

func TestKilledAgentAdoptsWhatRuns(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"a killed agent adopts running pods: nothing restarts, no readiness flips, revisions and counts only grow",
		"a watch from before a restart is answered 410",
	)
	n := start(t)
	n.apply(bundle(mixed()...))
	n.settle()
	before, revision := n.healthy(), n.revision()
	restarts := containerStatus(n.get("failing"), "main").RestartCount
	for range 3 {
		n.Kill()
		began := time.Now()
		n.up()
		if took := time.Since(began); took > pace.Of(20*time.Second) {
			t.Errorf("the API answered after %s", took)
		}
		n.unmoved("plain", "pair")
		if after := n.healthy(); after != before {
			t.Fatalf("after the kill %s runs, want %s as before", after, before)
		}
	}
	if after := n.revision(); after < revision {
		t.Errorf("the revision went from %d to %d", revision, after)
	}
	if got := containerStatus(n.get("failing"), "main"); got.RestartCount < restarts {
		t.Errorf("the count of restarts went from %d to %d", restarts, got.RestartCount)
	}
	if p := n.get("done"); p.Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pod that was done is %s", p.Status.Phase)
	}
	// History starts again with the agent, and an older watch learns that it has to list.
	if got := n.curl(fmt.Sprintf("/v1/pods:watch?sinceRevision=%d", revision), "--max-time", "5"); got.code != 410 {
		t.Errorf("a watch from before the restart: got %s, want 410", got)
	}
	n.apply(web("later").yaml())
	n.runsAndAnswers("later")
	n.deletePod("plain", "")
	if got := n.sandboxes("plain"); got != 0 {
		t.Errorf("an adopted pod left %d sandboxes when it was deleted", got)
	}
}

func TestDeletionGoesOnAfterAKill(t *testing.T) {
	claim.Shows(t, "Deletion", "a deletion goes on after a kill of the agent, with the deadline it had")
	n := start(t)
	p := runs("stubborn", "ignore")
	p.grace = 3
	n.apply(p.yaml())
	n.waitHeedless("stubborn")
	began := time.Now()
	if got := n.curl("/v1/namespaces/default/pods/stubborn", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete: got %s, want 200", got)
	}
	n.Kill()
	n.up()
	n.waitGone("stubborn")
	if took := time.Since(began); took < 3*time.Second || took > pace.Of(20*time.Second) {
		t.Errorf("the pod was gone after %s, want its grace period of 3s", took)
	}
	if sandboxes := n.sandboxes(""); sandboxes != 0 {
		t.Errorf("%d sandboxes are left", sandboxes)
	}
}

// readyRuntime is the part of the node's JSON about a ready runtime.
const readyRuntime = `"ready":true,"networkReady":true`

func TestKilledRuntimeComesBackToWhatRan(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "while the runtime is gone reads and changes work, and it comes back to its running pods")
	claim.Shows(t, "Status and events",
		"a watch of the node shows when the runtime goes and when it is back",
		"the node has Kubernetes' conditions, and is not ready while its runtime is gone",
	)
	n := start(t)
	n.apply(bundle(mixed()...))
	n.settle()
	before := n.healthy()
	events, told := n.follow("/v1/events:watch"), n.follow("/v1/node:watch")
	events.until(`"RuntimeReady"`)
	told.until(readyRuntime)
	if err := n.rt.Kill(); err != nil {
		t.Fatal(err)
	}
	events.until(`"RuntimeLost"`)
	if got := told.until("connection refused"); !strings.Contains(got, `"type":"Ready","status":"False","reason":"KubeletNotReady","message":"container runtime is down: `) {
		t.Errorf("the node without its runtime is shown as %s, want it not ready", got)
	}
	// Reads and changes work meanwhile.
	if got := n.curl("/v1/pods"); got.code != 200 || !strings.Contains(got.body, `"plain"`) {
		t.Errorf("list without a runtime: got %s, want the pods", got)
	}
	n.apply(web("meanwhile").yaml())
	if got := n.curl("/v1/namespaces/default/pods/plain/containers/main:run", "-d", `{"command": ["/probe", "exit", "0"]}`); got.code != 503 {
		t.Errorf("run without a runtime: got %s, want 503", got)
	}
	if err := n.rt.Start(); err != nil {
		t.Fatal(err)
	}
	events.until(`"RuntimeReady"`)
	if got := told.until(readyRuntime); !strings.Contains(got, `"type":"Ready","status":"True","reason":"KubeletReady"`) {
		t.Errorf("the node with its runtime back is shown as %s, want it ready", got)
	}
	n.runsAndAnswers("meanwhile")
	n.unmoved("plain", "pair")
	n.deletePod("meanwhile", "")
	if after := n.healthy(); after != before {
		t.Errorf("after the runtime's restart %s runs, want %s as before", after, before)
	}
}

func TestAgentStartsWithoutARuntimeAndWaitsForIt(t *testing.T) {
	claim.Shows(t, "Restarts and faults", "the agent starts without a runtime, is not ready, and goes on when it comes")
	n := start(t)
	n.apply(web("steady").yaml())
	n.waitRunning("steady")
	before := n.healthy()
	n.Kill()
	if err := n.rt.Kill(); err != nil {
		t.Fatal(err)
	}
	n.up()
	if got := n.curl("/v1/node"); got.code != 200 || strings.Contains(got.body, readyRuntime) {
		t.Errorf("the node without its runtime: got %s, want it shown as not ready", got)
	}
	if err := n.rt.Start(); err != nil {
		t.Fatal(err)
	}
	n.waitRunning("steady")
	if after := n.healthy(); after != before {
		t.Errorf("after both were killed %s runs, want %s as before", after, before)
	}
}

func TestKilledContainerIsReplacedInItsSandbox(t *testing.T) {
	claim.Shows(t, "Containers", "a container that is killed is replaced in its sandbox")
	n := start(t)
	n.apply(web("struck").yaml())
	n.waitRunning("struck")
	n.strike("struck")
	n.wait("struck", "a replacement", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == 1 && ready(p) })
	if got := n.sandboxes("struck"); got != 1 {
		t.Errorf("the pod has %d sandboxes, want the same one", got)
	}
}

func TestRunOnceStartsReportsAndEnds(t *testing.T) {
	claim.Shows(t, "Ways in", "runonce starts the pods of files, reports and ends",
		"runonce knows of the node's pressure before it accepts pods")
	n := prepare(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--runonce", "--pod-manifest-path", filepath.Join(c.Dir, "manifests"))
		c.Settings["evictionHard"] = map[string]string{"pid.available": "99.99%"}
	})
	n.file("node/manifests/once.yaml", web("once").yaml())
	if err := n.Launch(); err != nil {
		t.Fatal(err)
	}
	code, err := n.Wait(t.Context())
	if err != nil || code != 0 {
		t.Fatalf("the agent ended with code %d (%v), want 0", code, err)
	}
	if got := n.Log(); !strings.Contains(got, "default/once-node-a\tRunning\t10.") {
		t.Errorf("the report is %q, want the running pod with its address", got)
	}
	if got := n.Log(); !strings.Contains(got, "conditions=[PIDPressure]") {
		t.Errorf("the log is %q, want that the node is short of processes", got)
	}
	if got := n.containers("once-node-a"); len(got) != 1 || !got[0].running {
		t.Errorf("the runtime has %+v, want the pod to go on running", got)
	}
}

// get returns a pod as it is now.
func (n *node) get(name string) *corev1.Pod {
	n.t.Helper()
	return n.wait(name, "pod "+name, func(*corev1.Pod) bool { return true })
}

// revision returns the node's revision.
func (n *node) revision() int64 {
	n.t.Helper()
	var reply struct {
		Revision int64 `json:",string"`
	}
	n.curl("/v1/node").into(n, &reply)
	return reply.Revision
}
