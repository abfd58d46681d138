package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// The containers of these pods and their hooks append lines to the host's file /story/log. Web
// serves requests that do so.
const (
	tell = "echo %s >>/story/log"
	web8 = `mkdir -p /www/cgi-bin; printf '#!/bin/sh\necho "$QUERY_STRING $HTTP_USER_AGENT" >>/story/log\necho\n' >/www/cgi-bin/tell; chmod +x /www/cgi-bin/tell; httpd -p 8080 -h /www; `
	loop = "while :; do sleep 0.1; done"
)

// hooked is a pod of shell containers that write a story on the host.
type hooked struct {
	n    *node
	name string
	dir  string
	text strings.Builder
}

// hooked starts the manifest of a pod; head holds the fields of its spec besides containers.
func (n *node) hooked(name, head string) *hooked {
	n.t.Helper()
	h := &hooked{n: n, name: name, dir: filepath.Join(n.rt.Dir, "stories", name)}
	if err := os.MkdirAll(h.dir, 0o777); err != nil {
		n.t.Fatal(err)
	}
	fmt.Fprintf(&h.text, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  volumes: [{name: story, hostPath: {path: %s}}]\n  %s\n", name, h.dir, head)
	return h
}

// list starts a list of containers.
func (h *hooked) list(field string) *hooked {
	fmt.Fprintf(&h.text, "  %s:\n", field)
	return h
}

// runs adds a container that runs a script; lines holds its other fields.
func (h *hooked) runs(name, script string, lines ...string) *hooked {
	fmt.Fprintf(&h.text, "  - name: %s\n    image: nodal.test/busybox:1\n    command: [sh, -c, %q]\n", name, script)
	fmt.Fprintf(&h.text, "    volumeMounts: [{name: story, mountPath: /story}]\n")
	for _, line := range lines {
		fmt.Fprintf(&h.text, "    %s\n", line)
	}
	return h
}

func (h *hooked) apply() *hooked {
	h.n.t.Helper()
	h.n.apply(h.text.String())
	return h
}

// story returns the lines so far.
func (h *hooked) story() string {
	data, err := os.ReadFile(filepath.Join(h.dir, "log"))
	if err != nil {
		return ""
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(data)), "\n"), ", ")
}

// tells waits until the story is as wanted.
func (h *hooked) tells(want string) {
	h.n.t.Helper()
	h.n.eventually(h.name+" to tell "+want+", after "+h.story(), func() bool { return strings.Contains(h.story(), want) })
}

// lets creates a file that a container waits for in the story's directory.
func (h *hooked) lets(file string) {
	h.n.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, file), nil, 0o600); err != nil {
		h.n.t.Fatal(err)
	}
}

func (h *hooked) wantStory(want string) {
	h.n.t.Helper()
	if got := h.story(); got != want {
		h.n.t.Errorf("the story of %s is %q, want %q", h.name, got, want)
	}
}

// wantEvent waits for an event of the pod with a reason and a text.
func (h *hooked) wantEvent(reason, text string) {
	h.n.t.Helper()
	body := h.n.curl("/v1/events?namespace=default&name=" + h.name).body
	if !strings.Contains(body, reason) || !strings.Contains(body, text) {
		h.n.t.Errorf("the events of %s have no %s with %q: %s", h.name, reason, text, body)
	}
}

// command returns a hook that runs a script.
func command(script string) string { return fmt.Sprintf("{exec: {command: [sh, -c, %q]}}", script) }

func says(word string) string { return fmt.Sprintf(tell, word) }

// onTerm returns a trap that adds a word to the story at SIGTERM, and exits.
func onTerm(word string) string { return "trap '" + says(word) + "; exit 0' TERM; " }

func TestPostStartHooks(t *testing.T) {
	claim.Shows(t, "Containers",
		"a postStart hook by command runs beside the container's start; until it has ended the container does not count as running, and those after it wait",
		"a postStart hook that an agent's death has interrupted is run again without harm to the container; one that has ended is not",
		"a postStart hook by HTTP calls the pod, and falls back from HTTPS to plain text with an event",
		"a postStart hook that fails ends its container with the event FailedPostStartHook, and the restart policy applies",
		"a postStart hook that sleeps is honoured, even for zero seconds",
	)
	n := start(t)
	first := n.hooked("first", "terminationGracePeriodSeconds: 1").list("containers").
		runs("main", web8+onTerm("term")+loop,
			"lifecycle:", "  postStart: "+command(says("hook")+"; until [ -e /story/go ]; do sleep 0.1; done; "+says("hooked"))).
		runs("asks", loop,
			"ports: [{name: web, containerPort: 8080}]",
			"lifecycle: {postStart: {httpGet: {path: '/cgi-bin/tell?plain', port: web}}}").
		runs("tls", loop,
			"lifecycle: {postStart: {httpGet: {path: '/cgi-bin/tell?fallback', port: 8080, scheme: HTTPS}}}").
		runs("sleeps", loop, "lifecycle: {postStart: {sleep: {seconds: 0}}, preStop: {sleep: {seconds: 0}}}").
		apply()
	failing := n.hooked("failing", "restartPolicy: Never").list("containers").
		runs("main", onTerm("term")+loop,
			"lifecycle:", "  postStart: "+command("exit 3"), "  preStop: "+command(says("stop"))).
		apply()

	p := n.wait("failing", "its end", func(p *corev1.Pod) bool { return containerStatus(p, "main").State.Terminated != nil })
	if p.Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pod is %s, want Succeeded: its container has ended with code 0 when it was asked to", p.Status.Phase)
	}
	failing.wantStory("stop, term")
	failing.wantEvent("FailedPostStartHook", "the command ended with exit code 3")

	first.tells("hook")
	n.Kill()
	n.up()
	first.tells("hook, hook")
	p = n.wait("first", "main waiting for its hook", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.State.Waiting != nil && s.State.Waiting.Reason == "ContainerCreating" && !*s.Started && s.ContainerID != ""
	})
	if got := n.containers("first"); len(got) != 1 || p.Status.Phase != corev1.PodPending {
		t.Errorf("while the hook runs the pod is %s with containers %v, want Pending and main alone", p.Status.Phase, got)
	}
	main := n.containers("first")[0]
	first.lets("go")
	n.waitRunning("first")
	first.wantStory("hook, hook, hooked, plain kube-lifecycle/1.37, fallback kube-lifecycle/1.37")
	first.wantEvent("LifecycleHTTPFallback", "container tls")
	n.Kill()
	n.up()
	n.unmoved("first")
	first.wantStory("hook, hook, hooked, plain kube-lifecycle/1.37, fallback kube-lifecycle/1.37")
	if got := n.containers("first"); len(got) != 4 || got[1] != main {
		t.Errorf("the containers are %v, want four, main the same as %v", got, main)
	}
}

func TestPreStopHooks(t *testing.T) {
	claim.Shows(t, "Deletion",
		"preStop hooks by command and by HTTP run before the stop signal; those of sidecars run at the same time as the others",
		"a preStop hook that sleeps delays the stop signal",
		"a preStop hook that fails makes the event FailedPreStopHook and delays nothing",
		"a preStop hook that does not end within the grace period is not awaited: the container gets two seconds more",
		"a second deletion shortens the time of a preStop hook that runs",
	)
	claim.Shows(t, "Probes", "a container that a liveness probe has condemned runs its preStop hook first, within the probe's own grace period")
	n := start(t)
	const grace = "terminationGracePeriodSeconds: "
	short := max(10*time.Second, pace.Of(3*time.Second)) // long enough to begin a hook on a busy machine
	seconds := strconv.Itoa(int(short.Seconds()))
	leaving := n.hooked("leaving", grace+"30").
		list("initContainers").
		runs("proxy", web8+onTerm("proxy-term")+loop, "restartPolicy: Always", "ports: [{name: web, containerPort: 8080}]",
			"lifecycle: {preStop: {httpGet: {path: '/cgi-bin/tell?proxy-hook', port: web, httpHeaders: [{name: User-Agent, value: me}]}}}").
		list("containers").
		runs("main", onTerm("main-term")+loop,
			"lifecycle:", "  preStop: "+command("until grep -q proxy-hook /story/log; do sleep 0.1; done; "+says("main-hook"))).
		apply()
	sleeping := n.hooked("sleeping", grace+"30").list("containers").
		runs("main", onTerm("term")+loop, "lifecycle: {preStop: {sleep: {seconds: 2}}}").apply()
	failing := n.hooked("failing", grace+"30").list("containers").
		runs("main", onTerm("term")+loop, "lifecycle:", "  preStop: "+command(says("hook")+"; exit 4")).apply()
	hanging := n.hooked("hanging", grace+seconds).list("containers").
		runs("main", onTerm("term")+loop, "lifecycle:", "  preStop: "+command(says("hook")+"; sleep 1000")).apply()
	patient := n.hooked("patient", grace+"300").list("containers").
		runs("main", onTerm("term")+loop, "lifecycle:", "  preStop: "+command(says("hook")+"; sleep 1000")).apply()
	hung := n.hooked("hung", grace+"300").list("containers").
		runs("main", onTerm("term")+loop, "lifecycle:", "  preStop: "+command(says("hook")+"; sleep 1000"),
			"livenessProbe: {exec: {command: [test, '!', -e, /story/hung]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10, "+grace+seconds+"}").
		apply()
	for _, h := range []*hooked{leaving, sleeping, failing, hanging, patient, hung} {
		n.waitRunning(h.name)
	}
	hung.lets("hung")

	n.deletePod("leaving", "")
	leaving.wantStory("proxy-hook me, main-hook, main-term, proxy-term")
	if took := n.deletePod("sleeping", ""); took < 2*time.Second {
		t.Errorf("a pod that sleeps 2 s before its end was gone after %s", took)
	}
	sleeping.wantStory("term")
	n.deletePod("failing", "")
	failing.wantStory("hook, term")
	failing.wantEvent("FailedPreStopHook", "the command ended with exit code 4")
	if took := n.deletePod("hanging", ""); took < short || took > pace.Of(40*time.Second) {
		t.Errorf("a pod with %s of grace whose hook hangs was gone after %s", short, took)
	}
	hanging.wantStory("hook, term")
	hanging.wantEvent("FailedPreStopHook", "did not end within the grace period")

	if got := n.curl("/v1/namespaces/default/pods/patient", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete: got %s, want 200", got)
	}
	patient.tells("hook")
	n.deletePod("patient", "?gracePeriodSeconds=1")
	patient.wantStory("hook, term")

	n.wait("hung", "a restart", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount >= 1 })
	if got := hung.story(); !strings.HasPrefix(got, "hook, term") {
		t.Errorf("the story of the container that hung is %q, want its hook and then the signal", got)
	}
}

func TestPreStopHooksOfAStray(t *testing.T) {
	claim.Shows(t, "Deletion", "a running pod without a record ends with its preStop hook, even on a named port")
	claim.Shows(t, "Deletion", "this holds too if another pod wants its name, which waits")
	n := start(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--pod-manifest-path", filepath.Join(c.Dir, "manifests"))
	})
	stray := func(name string) *hooked {
		return n.hooked(name, "terminationGracePeriodSeconds: 20").list("containers").
			runs("main", web8+onTerm("term")+loop, "ports: [{name: web, containerPort: 8080}]",
				"lifecycle: {preStop: {httpGet: {path: '/cgi-bin/tell?hook', port: web}}}").apply()
	}
	lost, namesake := stray("lost"), stray("heir-node-a")
	n.waitRunning("lost")
	n.waitRunning("heir-node-a")
	n.Kill()
	if err := os.RemoveAll(filepath.Join(n.Root(), "journal")); err != nil {
		t.Fatal(err)
	}
	n.file("node/manifests/heir.yaml", web("heir").yaml())
	n.up()
	n.eventually("nothing left of the pod", func() bool { return n.sandboxes("lost") == 0 })
	lost.wantStory("hook kube-lifecycle/1.37, term")
	n.runsAndAnswers("heir-node-a")
	namesake.wantStory("hook kube-lifecycle/1.37, term")
}
