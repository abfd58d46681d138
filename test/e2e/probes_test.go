package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// patient returns a pod whose probes depend on files in its container: started, hung, and ready,
// the last by HTTP.
func patient(name string) string {
	return adding(shell(name, "mkdir /www; httpd -p 8080 -h /www; trap 'exit 9' TERM; while :; do sleep 0.1; done"),
		"ports: [{name: web, containerPort: 8080}]",
		"startupProbe: {exec: {command: [test, -f, /started]}, periodSeconds: 1, failureThreshold: 100, timeoutSeconds: 10}",
		"livenessProbe: {exec: {command: [test, '!', -f, /hung]}, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 10, terminationGracePeriodSeconds: 7}",
		"readinessProbe: {httpGet: {path: /ready, port: web}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}",
	)
}

// do runs a script in a pod's container.
func (n *node) do(pod, script string) {
	n.t.Helper()
	got := n.curl("/v1/namespaces/default/pods/"+pod+"/containers/main:run", "-d", fmt.Sprintf(`{"command": ["sh", "-c", %q]}`, script))
	if got.code != 200 {
		n.t.Fatalf("run %s in %s: got %s, want 200", script, pod, got)
	}
}

// state returns how far a pod's probes let it come.
func state(p *corev1.Pod) string {
	s := containerStatus(p, "main")
	return fmt.Sprintf("started=%t ready=%t restarts=%d Ready=%s", s.Started != nil && *s.Started, s.Ready, s.RestartCount, condition(p, corev1.PodReady))
}

func (n *node) waitState(name, want string) *corev1.Pod {
	n.t.Helper()
	return n.wait(name, name+" "+want, func(p *corev1.Pod) bool {
		return containerStatus(p, "main").State.Running != nil && state(p) == want
	})
}

func readyTime(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.String()
		}
	}
	return "never"
}

func TestProbesGateReadinessAndRestart(t *testing.T) {
	claim.Shows(t, "Probes",
		"a startup probe holds back readiness until it has passed",
		"a readiness probe by HTTP on a named port makes a pod ready and unready without a restart",
		"a liveness probe by command restarts its container after its threshold, within the probe's own grace period",
		"each failed probe makes an event with the reason",
		"a restart of the agent flips no readiness",
	)
	n := start(t)
	events := n.follow("/v1/events:watch")
	n.apply(patient("patient"))
	n.waitState("patient", "started=false ready=false restarts=0 Ready=False")
	n.do("patient", "touch /www/ready")
	events.until("Startup probe failed: the command ended with exit code 1")
	if p := n.get("patient"); state(p) != "started=false ready=false restarts=0 Ready=False" {
		t.Errorf("before its startup probe the pod is %s", state(p))
	}
	n.do("patient", "touch /started")
	n.waitState("patient", "started=true ready=true restarts=0 Ready=True")
	// The agent journals the readiness at about the time it shows it. A command takes longer, so
	// the record is written by then.
	n.do("patient", "true")
	ready := n.get("patient")
	n.Kill()
	n.up()
	n.unmoved("patient")
	if p := n.get("patient"); containerStatus(p, "main").RestartCount != 0 || readyTime(p) > readyTime(ready) {
		t.Errorf("after a kill of the agent: %s, ready since %s; want it as before, since %s", state(p), readyTime(p), readyTime(ready))
	}

	events = n.follow("/v1/events:watch")
	n.do("patient", "rm /www/ready")
	n.waitState("patient", "started=true ready=false restarts=0 Ready=False")
	events.until("Readiness probe failed: HTTP probe failed with statuscode: 404 (GET http://")
	n.do("patient", "touch /www/ready")
	n.waitState("patient", "started=true ready=true restarts=0 Ready=True")

	n.do("patient", "touch /hung")
	if got := events.until(`"Killing"`); !strings.Contains(got, "Container main failed liveness probe, will be restarted (within 7s)") {
		t.Errorf("the event is %s", got)
	}
	p := n.waitState("patient", "started=false ready=false restarts=1 Ready=False")
	if last := containerStatus(p, "main").LastTerminationState.Terminated; last == nil || last.ExitCode != 9 {
		t.Errorf("the run that hung ended as %+v, want code 9: it was asked to end", last)
	}
	n.do("patient", "touch /started /www/ready")
	n.waitState("patient", "started=true ready=true restarts=1 Ready=True")
	n.deletePod("patient", "")
}

// A probe that cannot run says nothing about its container: it is neither ready nor ended.
func TestProbesThatCannotRunChangeNothing(t *testing.T) {
	claim.Shows(t, "Probes",
		"a readiness probe by TCP makes a pod ready",
		"a probe that cannot run neither makes a container ready nor restarts it, and an event says why",
		"a probe reaches neither link-local addresses nor the node's loopback unless the owner allows it",
	)
	n := start(t)
	events := n.follow("/v1/events:watch")
	n.apply(adding(web("open"), "readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, timeoutSeconds: 10}"))
	n.waitRunning("open")
	for _, c := range []struct{ name, probe, problem string }{
		{"noport", "{httpGet: {port: gone}, periodSeconds: 1, failureThreshold: 1}", "errored and resulted in unknown state: find port"},
		{"nocommand", "{exec: {command: [/not/there]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}", "probe errored and resulted in unknown state: "},
		{"metadata", "{httpGet: {host: 169.254.169.254, port: 80}, periodSeconds: 1, failureThreshold: 1}", "may not go there"},
		{"loopback", "{tcpSocket: {host: localhost, port: 80}, periodSeconds: 1, failureThreshold: 1}", "may not go there"},
	} {
		n.apply(adding(web(c.name), "livenessProbe: "+c.probe, "readinessProbe: "+c.probe))
		told := events.until(c.problem)
		for !strings.Contains(told, c.name) {
			told = events.until(c.problem)
		}
		if !strings.Contains(told, `"Unhealthy"`) {
			t.Errorf("%s: the event is %s, want Unhealthy", c.name, told)
		}
		n.waitState(c.name, "started=true ready=false restarts=0 Ready=False")
	}
	n.waitState("open", "started=true ready=true restarts=0 Ready=True")
}
