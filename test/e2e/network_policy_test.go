package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
)

// reader is a pod that is ready while it can read a page of another pod. Its init container has to come to an end first.
func reader(name, app, page, first string) string {
	p := shell(name, "exec sleep 1000")
	p.labels, p.restart = map[string]string{"app": app}, "Never"
	p.init = []program{busybox("first", strings.ReplaceAll(first, "PAGE", page))}
	return p.yaml() + "    readinessProbe: {exec: {command: [timeout, '1', wget, -q, -O, /dev/null, '" + page +
		"']}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 3}\n"
}

func networkPolicy(name, spec string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: " + name + ", namespace: default}\nspec: " + spec + "\n"
}

// TestPodsOfTheOwnRuntimeAreHeldToNetworkPolicies looks at what pods reach through their probes.
func TestPodsOfTheOwnRuntimeAreHeldToNetworkPolicies(t *testing.T) {
	claim.Shows(t, "Security",
		"on the node's own runtime, NetworkPolicies hold for pods: from their first packet, after each change, and after a restart of the agent",
		"the node's probes reach a pod whatever policies say")
	t.Parallel()
	d := daemon.StartAlone(t)
	d.Import("busybox")
	web := shell("web", "echo hello >/index.html; exec httpd -f -p 8080 -h /")
	web.labels = map[string]string{"app": "web"}
	d.Apply(web.yaml() + "    readinessProbe: {httpGet: {port: 8080, path: /index.html}, periodSeconds: 1}\n")
	pods := d.Await("the server is ready", func(p daemon.Pods) bool { return p.Ready("web") })
	page := "http://" + pods["web"].GetPodIps()[0] + ":8080/index.html"

	d.Apply(reader("friend", "friend", page, "exec timeout 10 wget -q -O /dev/null PAGE"))
	d.Await("a pod reads the page at once, without a policy", func(p daemon.Pods) bool { return p.Ready("friend") })

	d.Apply(networkPolicy("web", "{podSelector: {matchLabels: {app: web}}}"))
	d.Await("a policy without rules keeps it out, and not the node's probe", func(p daemon.Pods) bool {
		return !p.Ready("friend") && p.Ready("web")
	})

	d.Apply(networkPolicy("web", "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}]}]}"))
	d.Await("a policy lets it in", func(p daemon.Pods) bool { return p.Ready("friend") })
	const mayNot = "if timeout 2 wget -q -O /dev/null PAGE; then exit 1; fi"
	d.Apply(reader("stranger", "stranger", page, mayNot))
	d.Apply(reader("other", "friend", page, "exec timeout 10 wget -q -O /dev/null PAGE"))
	d.Await("the first packet of a pod that may read arrives, and that of another does not", func(p daemon.Pods) bool {
		return p.Ready("other") && p["stranger"].GetPhase() == nodev1.PodPhase_POD_PHASE_RUNNING && !p.Ready("stranger")
	})

	d.Apply(reader("stranger", "friend", page, mayNot))
	d.Await("labels that change let a pod in", func(p daemon.Pods) bool { return p.Ready("stranger") })

	d.Kill()
	d.Launch()
	d.Apply(networkPolicy("web", "{podSelector: {matchLabels: {app: web}}}"))
	d.Await("the next agent applies a change to pods of the last", func(p daemon.Pods) bool {
		return !p.Ready("friend") && !p.Ready("other") && !p.Ready("stranger") && p.Ready("web")
	})
}

// TestNetworkPoliciesHoldAtHostPortsAndWhileNoAgentRuns connects from inside of pods, so that no part of the agent is needed.
func TestNetworkPoliciesHoldAtHostPortsAndWhileNoAgentRuns(t *testing.T) {
	claim.Shows(t, "Security",
		"a pod that a NetworkPolicy keeps out does not get in by a host port either",
		"while the agent is dead, NetworkPolicies hold for new connections, those that are allowed and those that are not")
	t.Parallel()
	d := daemon.StartAlone(t)
	d.Import("busybox")
	free, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	web := shell("web", "exec httpd -f -p 8080 -h /")
	web.labels = map[string]string{"app": "web"}
	d.Apply(web.yaml() + fmt.Sprintf("    ports: [{containerPort: 8080, hostPort: %d}]\n", port))
	naps := map[string]string{"friend": "86021", "stranger": "86022"}
	for name, nap := range naps {
		p := shell(name, "exec sleep "+nap)
		p.labels = map[string]string{"app": name}
		d.Apply(p.yaml())
	}
	d.Apply(networkPolicy("web", "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}]}]}"))
	pods := d.Await("all run", func(p daemon.Pods) bool { return p.Ready("web") && p.Ready("friend") && p.Ready("stranger") })

	friend, stranger := pidOfNap(t, naps["friend"]), pidOfNap(t, naps["stranger"])
	at := map[string]netip.AddrPort{
		"the pod":       netip.AddrPortFrom(netip.MustParseAddr(pods["web"].GetPodIps()[0]), 8080),
		"the host port": netip.AddrPortFrom(gatewayOf(t, friend), uint16(port)),
	}
	connects := func(pid int, to netip.AddrPort, within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		conn, err := dialIn(pid)(ctx, "tcp", to.String())
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	holds := func(when string) {
		t.Helper()
		for what, to := range at {
			if !connects(friend, to, pace.Of(10*time.Second)) {
				t.Errorf("%s: a pod that may does not reach %s", when, what)
			}
			if connects(stranger, to, time.Second) {
				t.Errorf("%s: a pod that may not reaches %s", when, what)
			}
		}
	}
	for deadline := time.Now().Add(pace.Of(patience)); connects(stranger, at["the pod"], time.Second); {
		if time.Now().After(deadline) {
			t.Fatal("the policy does not come into force")
		}
	}
	holds("while the agent runs")
	d.Kill()
	holds("while no agent runs")
	d.Launch()
	d.Await("the next agent answers", func(p daemon.Pods) bool { return p.Ready("web") })
	holds("after a restart of the agent")
}

// pidOfNap returns the process that sleeps for so long.
func pidOfNap(t *testing.T, seconds string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && string(text) == "sleep\x00"+seconds+"\x00" {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2]) // the pattern has digits alone
			return pid
		}
	}
	t.Fatalf("no process sleeps for %s seconds", seconds)
	return 0
}
