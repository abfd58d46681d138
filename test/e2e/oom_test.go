package e2e

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
)

// oomEvents returns the events on processes of a pod that were killed for want of memory. An empty name means events of
// the node.
func (n *node) oomEvents(pod, reason string) (found []*nodev1.Event) {
	n.t.Helper()
	path := "/v1/events"
	if pod != "" {
		path += "?namespace=default&name=" + pod
	}
	var answer nodev1.ListEventsResponse
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(n.curl(path).body), &answer); err != nil {
		n.t.Fatal(err)
	}
	for _, e := range answer.GetEvents() {
		if e.GetReason() == reason {
			found = append(found, e)
		}
	}
	return found
}

// TestAKilledProcessIsToldToItsPod has the kernel kill a process that is not the first one of its container. The container
// goes on, so its status says nothing of it.
func TestAKilledProcessIsToldToItsPod(t *testing.T) {
	claim.Shows(t, "Resources",
		"a process that the kernel kills at a memory limit is an event of its pod, with the container, the process and the limit",
		"a new agent does not tell of it again")
	n := prepare(t)
	n.Settings["singleProcessOOMKill"] = true
	n.up()
	p := pod{name: "hungry", apps: []program{
		busybox("quiet", "exec sleep 1000"),
		busybox("eater", "while :; do until [ -e /go ]; do sleep 0.1; done; rm /go; tail /dev/zero; echo tail ended with $?; done"),
	}}
	n.apply(adding(p, "resources: {limits: {memory: 24Mi}}"))
	n.waitRunning("hungry")

	n.inside("hungry", "eater", "touch /go")
	n.eventually("an event on the killed process", func() bool { return len(n.oomEvents("hungry", "OOMKilled")) == 1 })
	e := n.oomEvents("hungry", "OOMKilled")[0]
	if e.GetContainer() != "eater" || e.GetType() != nodev1.EventType_EVENT_TYPE_WARNING {
		t.Errorf("got %s, want a warning about container eater", n.jsonOf(e))
	}
	for _, want := range []string{`process "tail" (pid `, "of container eater", "memory limit of 24Mi"} {
		if !strings.Contains(e.GetMessage(), want) {
			t.Errorf("it says %q, want %q in it", e.GetMessage(), want)
		}
	}
	if got := n.curl("/v1/namespaces/default/pods/hungry/timeline").body; !strings.Contains(got, "OOMKilled") {
		t.Errorf("the pod's timeline does not have it: %s", got)
	}
	if found := n.oomEvents("", "SystemOOM"); len(found) != 0 {
		t.Errorf("got %s, want nothing about the node: the container was at a limit of its own", n.jsonOf(found))
	}
	if got := containerStatus(n.waitRunning("hungry"), "eater"); got.RestartCount != 0 {
		t.Errorf("it has restarted: %+v", got)
	}

	n.waitKept("OOMKilled")
	n.Kill()
	n.up()
	n.waitRunning("hungry")
	n.inside("hungry", "eater", "touch /go") // what the new agent tells of this comes after what it might tell of the past
	n.eventually("an event on the next killed process", func() bool { return len(n.oomEvents("hungry", "OOMKilled")) > 1 })
	again := n.oomEvents("hungry", "OOMKilled")
	if len(again) != 2 || again[0].GetMessage() != e.GetMessage() || again[0].GetCount() != 1 || again[1].GetMessage() == e.GetMessage() {
		t.Errorf("got %s, want the kill of before, once, and the new one", n.jsonOf(again))
	}
}
