package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
)

// waitKept waits until an event is in its file: an agent that is killed loses those of the last moment.
func (n *node) waitKept(reason string) {
	n.t.Helper()
	n.eventually("event "+reason+" in the file", func() bool {
		kept, err := os.ReadFile(filepath.Join(n.Root(), "history", "events"))
		return err == nil && bytes.Contains(kept, []byte(`"`+reason+`"`))
	})
}

// answered reads a message by REST. It returns false if the API has none.
func (n *node) answered(path string, into proto.Message) bool {
	n.t.Helper()
	got := n.curl(path)
	if got.code != 200 {
		return false
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(got.body), into); err != nil {
		n.t.Fatal(err)
	}
	return true
}

// hungryPast returns what was recorded of pod hungry, and its first and its largest memory in MiB.
func (n *node) hungryPast() (past *nodev1.GetPodHistoryResponse, first, most uint64) {
	n.t.Helper()
	past = &nodev1.GetPodHistoryResponse{}
	if !n.answered("/v1/namespaces/default/pods/hungry/history", past) {
		return past, 0, 0
	}
	for i, p := range past.GetPoints() {
		if i == 0 {
			first = p.GetWorkingSetBytes() >> 20
		}
		most = max(most, p.GetWorkingSetBytes()>>20)
	}
	return past, first, most
}

// hungryStory returns the steps of pod hungry.
func (n *node) hungryStory() (words string) {
	n.t.Helper()
	var story nodev1.GetTimelineResponse
	n.answered("/v1/namespaces/default/pods/hungry/timeline", &story)
	for _, step := range story.GetSteps() {
		words += step.GetWhat() + " "
	}
	return words
}

// TestAPodThatRanOutOfMemoryUnwatchedIsRemembered asks for no figures until all is over. The agent is killed twice: once
// with the pod, and once without it.
func TestAPodThatRanOutOfMemoryUnwatchedIsRemembered(t *testing.T) {
	claim.Shows(t, "Stats and metrics",
		"the memory of a pod before the kernel killed it is on record, although nothing asked for figures, and survives a killed agent",
		"events and timelines survive a killed agent, those of pods that are gone too")
	n := prepare(t)
	n.up()
	// Each pause is longer than the time between two samples.
	p := shell("hungry", "{ head -c 2097152 /dev/zero; sleep 17; head -c 20971520 /dev/zero; sleep 17; cat /dev/zero; } | tail")
	p.restart = "Never"
	n.apply(adding(p, "resources: {limits: {memory: 44Mi, cpu: 500m}}"))
	n.wait("hungry", "pod hungry out of memory", func(o *corev1.Pod) bool { return o.Status.Phase == corev1.PodFailed })
	n.eventually("an event on the killed process", func() bool { return len(n.oomEvents("hungry", "OOMKilled")) > 0 })
	n.eventually("the rise of the memory", func() bool {
		_, first, most := n.hungryPast()
		return most >= first+8
	})

	n.waitKept("OOMKilled")

	n.Kill()
	n.up()
	past, first, most := n.hungryPast()
	if most < first+8 || past.GetMemoryLimitBytes() != 44<<20 || past.GetCpuLimitCores() != 0.5 {
		t.Errorf("a new agent has %s, want the rise from %d to %d MiB under the limits", n.jsonOf(past), first, most)
	}
	var machine nodev1.GetNodeHistoryResponse
	if !n.answered("/v1/node/history", &machine) || len(machine.GetPoints()) < 2 || machine.GetPoints()[0].GetWorkingSetBytes() == 0 {
		t.Errorf("a new agent has %s of the node, want its past too", n.jsonOf(&machine))
	}
	story := n.hungryStory()
	for _, step := range []string{"Accepted", "SandboxCreated", "Created", "Started", "OOMKilled", "Exited"} {
		if strings.Count(" "+story, " "+step+" ") != 1 {
			t.Errorf("a new agent tells %q, want one %s", story, step)
		}
	}

	n.deletePod("hungry", "")
	n.eventually("the end of the story", func() bool { return strings.Contains(n.hungryStory(), "Removed") })
	n.waitKept("Removed")
	n.Kill()
	n.up()
	if after := n.hungryStory(); !strings.Contains(after, "OOMKilled") || !strings.Contains(after, "Removed") {
		t.Errorf("of a pod that is gone, a new agent tells %q", after)
	}
	if gone, _, again := n.hungryPast(); again != most || gone.GetUid() != past.GetUid() {
		t.Errorf("of a pod that is gone, a new agent has %s", n.jsonOf(gone))
	}
}

// TestAPodIsShownAsItWasAtARevision asks new agents how a pod was that has changed, and is gone by now.
func TestAPodIsShownAsItWasAtARevision(t *testing.T) {
	n := prepare(t)
	n.up()
	const path = "/v1/namespaces/default/pods/web"
	at := func(revision int64) (*nodev1.Pod, bool) {
		var was nodev1.GetPodResponse
		found := n.answered(fmt.Sprintf("%s?at=%d", path, revision), &was)
		return was.GetPod(), found
	}
	revisionOf := func() int64 {
		var is nodev1.GetPodResponse
		n.answered(path, &is)
		return is.GetPod().GetRevision()
	}
	p := shell("web", "sleep 1000")
	n.apply(p.yaml())
	accepted := revisionOf()
	n.wait("web", "pod web ready", ready)
	before := revisionOf()
	n.apply(strings.Replace(p.yaml(), "name: web", "name: web\n  labels: {tier: front}", 1))
	after := revisionOf()
	check := func(who string) {
		t.Helper()
		if was, _ := at(accepted); was.GetReady() || was.GetPhase() != nodev1.PodPhase_POD_PHASE_PENDING {
			t.Errorf("%s: when it was accepted, the pod was %s", who, n.jsonOf(was))
		}
		was, _ := at(before)
		if labels := was.GetObject().GetFields()["metadata"].GetStructValue().GetFields()["labels"]; !was.GetReady() || labels != nil {
			t.Errorf("%s: before the change, the pod was %s", who, n.jsonOf(was))
		}
		was, _ = at(after)
		if labels := was.GetObject().GetFields()["metadata"].GetStructValue().GetFields()["labels"]; labels.GetStructValue().GetFields()["tier"].GetStringValue() != "front" {
			t.Errorf("%s: after the change, the pod was %s", who, n.jsonOf(was))
		}
	}
	check("the same agent")
	n.Kill()
	n.up()
	check("a new agent")
	n.deletePod("web", "")
	n.eventually("the end of the pod", func() bool { return revisionOf() == 0 })
	check("after its deletion")
	n.Kill()
	n.up()
	check("a new agent after its deletion")
}
