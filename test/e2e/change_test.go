package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// outcome is the part of an apply's answer that tests read.
type outcome struct {
	Result   string
	Changes  []string
	Restarts []string
	Revision string
}

// changed posts a manifest of one pod and returns the outcome.
func (n *node) changed(path, manifest string) outcome {
	n.t.Helper()
	got := n.curl(path, "--data-binary", manifest)
	var reply struct{ Outcomes []outcome }
	if got.code != 200 {
		n.t.Fatalf("post to %s: got %s, want 200", path, got)
	}
	got.into(n, &reply)
	if len(reply.Outcomes) != 1 {
		n.t.Fatalf("post to %s: got %s, want one outcome", path, got)
	}
	return reply.Outcomes[0]
}

func (o outcome) is(t *testing.T, result, restarts string) {
	t.Helper()
	if o.Result != "RESULT_"+result || strings.Join(o.Restarts, " ") != restarts {
		t.Errorf("the outcome is %+v, want %s with restarts %q", o, result, restarts)
	}
}

func TestApplyingTheSameAgainChangesNothing(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"applying the same manifest again changes nothing and says so",
		"labels, annotations and the grace period of a running pod change, and nothing restarts",
	)
	n := start(t)
	first := n.changed("/v1/manifests", web("same").yaml())
	first.is(t, "CREATED", "")
	n.waitRunning("same")
	before := n.running()
	again := n.changed("/v1/manifests", web("same").yaml())
	again.is(t, "UNCHANGED", "")
	p := web("same")
	p.labels, p.grace = map[string]string{"tier": "front"}, 7
	n.changed("/v1/manifests", strings.Replace(p.yaml(), "spec:\n", "  annotations: {note: new}\nspec:\n", 1)).is(t, "UPDATED", "")
	got := n.wait("same", "the change", func(p *corev1.Pod) bool { return p.Status.ObservedGeneration == 2 })
	if got.Labels["tier"] != "front" || got.Annotations["note"] != "new" || *got.Spec.TerminationGracePeriodSeconds != 7 || !ready(got) {
		t.Errorf("the pod is %+v, want the change, and ready", got)
	}
	if after := n.running(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("running is %v, want %v as before", after, before)
	}
}

func TestNewImageRestartsItsContainerAlone(t *testing.T) {
	claim.Shows(t, "Pod lifecycle",
		"a changed image restarts its container alone, in the same sandbox",
		"a plan says which containers would restart, and does nothing",
	)
	n := start(t)
	p := pod{name: "pair", apps: []program{{name: "main", args: []string{"http", "8080"}}, {name: "beside", args: []string{"pause"}}}}
	n.apply(p.yaml())
	n.waitRunning("pair")
	before, sandboxes := n.containers("pair"), n.sandboxes("pair")
	p.apps[0].image = "nodal.test/probe:2"
	planned := n.changed("/v1/manifests:plan", p.yaml())
	planned.is(t, "UPDATED", "main")
	if got := n.containers("pair"); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("a plan alone changed %v into %v", before, got)
	}
	n.changed("/v1/manifests", p.yaml()).is(t, "UPDATED", "main")
	got := n.wait("pair", "the new image", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount == 1 && s.State.Running != nil && ready(p)
	})
	if s := containerStatus(got, "main"); !strings.Contains(s.Image, "probe:2") {
		t.Errorf("main runs image %q, want version 2", s.Image)
	}
	if s := containerStatus(got, "beside"); s.RestartCount != 0 || s.ContainerID != "containerd://"+before[0].id {
		t.Errorf("the container beside is %+v, want it untouched as %+v", s, before[0])
	}
	if got := n.sandboxes("pair"); got != sandboxes {
		t.Errorf("the pod has %d sandboxes, want %d as before", got, sandboxes)
	}
}

func TestOtherChangesReplaceThePod(t *testing.T) {
	claim.Shows(t, "Pod lifecycle", "a change that a running pod cannot take replaces the pod; the new one starts when the old one is gone")
	n := start(t)
	n.apply(web("old").yaml())
	before := n.waitRunning("old")
	events := n.follow("/v1/events:watch")
	events.until(`"SandboxCreated"`)
	p := web("old")
	p.apps[0].args = []string{"http", "8080", "-"}
	n.changed("/v1/manifests", p.yaml()).is(t, "REPLACED", "main")
	events.until(`"Removed"`)
	events.until(`"SandboxCreated"`) // it must not come before that
	after := n.wait("old", "another pod under the name", func(p *corev1.Pod) bool { return p.UID != before.UID && ready(p) })
	if got, want := n.web(after.Status.PodIP), "old\n"; got != want {
		t.Errorf("the new pod answers %q, want %q", got, want)
	}
	n.eventually("one sandbox", func() bool { return n.sandboxes("old") == 1 })
}

func TestRestartIsWithoutBackoff(t *testing.T) {
	claim.Shows(t, "Containers", "a requested restart happens at once, without back-off")
	n := start(t)
	n.apply(web("again").yaml())
	n.waitRunning("again")
	for count := range int32(3) {
		if got := n.curl("/v1/namespaces/default/pods/again:restart", "--data-binary", "{}"); got.code != 200 {
			t.Fatalf("restart: got %s, want 200", got)
		}
		n.wait("again", "a restart", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == count+1 && ready(p) })
	}
}

// deletePod deletes a pod over REST and returns how long it took until it was gone.
func (n *node) deletePod(name, query string) time.Duration {
	n.t.Helper()
	began := time.Now()
	if got := n.curl("/v1/namespaces/default/pods/"+name+query, "-X", "DELETE"); got.code != 200 {
		n.t.Fatalf("delete: got %s, want 200", got)
	}
	n.waitGone(name)
	return time.Since(began)
}

func TestDeletionLeavesNothing(t *testing.T) {
	claim.Shows(t, "Deletion",
		"a deleted pod leaves no sandbox, container or link, and with --container-log-budget=0 no log",
		"a bundle deletes the pods it names",
	)
	n := start(t, func(c *agent.Config) { c.Flags = append(c.Flags, "--container-log-budget=0") })
	n.apply(bundle(web("a"), runs("b", "trap", "100ms", "0")))
	n.waitRunning("a")
	n.waitRunning("b")
	n.deletePod("a", "")
	if got := n.curl("/v1/manifests", "-X", "DELETE", "--data-binary", web("b").yaml()); got.code != 200 {
		t.Fatalf("delete a bundle: got %s, want 200", got)
	}
	n.waitGone("b")
	if sandboxes, containers := n.sandboxes(""), n.containers(""); sandboxes != 0 || len(containers) != 0 {
		t.Errorf("the runtime still has %d sandboxes and containers %v", sandboxes, containers)
	}
	for _, dir := range []string{n.PodLogs(), filepath.Join(filepath.Dir(n.PodLogs()), "containers")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if len(entries) > 0 {
			t.Errorf("%s still holds %v", dir, entries)
		}
	}
	if got := n.curl("/v1/namespaces/default/pods/a"); got.code != 404 {
		t.Errorf("get a deleted pod: got %s, want 404", got)
	}
}

func TestDeletionGivesTheGracePeriodAndNoMore(t *testing.T) {
	claim.Shows(t, "Deletion",
		"a pod that ends on SIGTERM is gone as soon as it has ended",
		"a pod that ignores SIGTERM is killed when its grace period ends, not before",
	)
	n := start(t)
	stubborn, kind := runs("stubborn", "ignore"), runs("kind", "trap", "300ms", "0")
	stubborn.grace, kind.grace = 2, 30
	n.apply(bundle(stubborn, kind))
	n.waitHeedless("stubborn")
	n.waitHeedless("kind")
	if took := n.deletePod("kind", ""); took < 300*time.Millisecond || took > pace.Of(25*time.Second) {
		t.Errorf("a pod that ends 300ms after SIGTERM was gone after %s", took)
	}
	if took := n.deletePod("stubborn", ""); took < 2*time.Second || took > pace.Of(20*time.Second) {
		t.Errorf("a pod that ignores SIGTERM was gone after %s, want its 2s", took)
	}
}

func TestSecondDeletionOnlyShortens(t *testing.T) {
	claim.Shows(t, "Deletion", "a second deletion shortens the grace period and never lengthens it")
	n := start(t)
	p := runs("stubborn", "ignore")
	p.grace = 120
	n.apply(p.yaml())
	n.waitHeedless("stubborn")
	if got := n.curl("/v1/namespaces/default/pods/stubborn", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete: got %s, want 200", got)
	}
	n.wait("stubborn", "terminating", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	first := n.deadline("stubborn")
	if got := n.curl("/v1/namespaces/default/pods/stubborn?gracePeriodSeconds=600", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete with more time: got %s, want 200", got)
	}
	if later := n.deadline("stubborn"); later.After(first) {
		t.Errorf("a second deletion moved the deadline from %s to %s", first, later)
	}
	if took := n.deletePod("stubborn", "?gracePeriodSeconds=1"); took > pace.Of(15*time.Second) {
		t.Errorf("with its grace period cut to 1s the pod was gone after %s", took)
	}
}

// deadline returns when a pod under deletion may be killed.
func (n *node) deadline(name string) time.Time {
	n.t.Helper()
	var reply struct {
		Pod struct{ DeletionDeadline time.Time }
	}
	n.curl("/v1/namespaces/default/pods/"+name).into(n, &reply)
	return reply.Pod.DeletionDeadline
}
