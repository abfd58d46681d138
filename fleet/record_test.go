package fleet

import (
	"strings"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

func TestARecordSaysHowFarANodeIs(t *testing.T) {
	text := web
	pod := func(change func(*local)) local {
		p := named("web", "{}")
		p.state = state{running: true, ready: true}
		change(&p)
		return p
	}
	none := func(*local) {}
	for _, c := range []struct {
		name   string
		view   view
		health health
		want   Record
	}{
		{"a pod that is ready", view{text: &text, taken: text, pods: []local{pod(none)}}, health{version: "v1"},
			Record{Version: "v1", Applied: 9, Wanted: 1, Running: 1, Ready: 1}},
		{"a key that the node has not answered", view{text: &text}, health{},
			Record{Applied: 6, Wanted: 1}},
		{"a change that the node has not answered", view{text: &text, taken: "before", pods: []local{pod(none)}}, health{},
			Record{Applied: 6, Wanted: 1, Running: 1, Ready: 1}},
		{"a pod that is about to be replaced", view{text: &text, taken: text, pods: []local{pod(func(p *local) { p.deadline = time.Unix(1, 0) })}}, health{},
			Record{Applied: 6, Wanted: 1, Running: 1, Ready: 1}},
		{"a key that is gone, and its pod is not", view{pods: []local{pod(func(p *local) { p.deadline = time.Unix(1, 0) })}}, health{},
			Record{Applied: 6, Running: 1, Ready: 1}},
		{"a key that is gone", view{status: "{}"}, health{}, Record{Applied: 9}},
		{"a manifest that the node refuses", view{text: &text, taken: text, refused: "no such field"}, health{},
			Record{Applied: 6, Wanted: 1, Failing: 1, Fault: "k: refused: no such field"}},
		{"a name that another pod has", view{text: &text, holder: "by key other"}, health{},
			Record{Applied: 6, Wanted: 1, Failing: 1, Fault: "k: the node has a pod of this name already, by key other"}},
		{"a pod in trouble on a node in trouble", view{text: &text, taken: text, pods: []local{pod(func(p *local) { p.state = state{running: true, trouble: "CrashLoopBackOff"} })}},
			health{fault: "DiskPressure"}, Record{Applied: 9, Wanted: 1, Running: 1, Failing: 1, Fault: "DiskPressure (and 1 more)"}},
		{"a pod that has done its work", view{text: &text, taken: text, pods: []local{pod(func(p *local) { p.state = state{done: true} })}}, health{},
			Record{Applied: 9, Wanted: 1, Done: 1}},
	} {
		c.want.Given = 9
		if got := tally(9, []standing{{key: "k", since: 7, view: c.view}}, c.health); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestThePodsOfARecordAreCountedAsTheDashboardDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		pod  *nodev1.Pod
		want state
	}{
		{"starting", &nodev1.Pod{Phase: nodev1.PodPhase_POD_PHASE_PENDING, Reason: "ContainerCreating"}, state{}},
		{"ready", &nodev1.Pod{Phase: nodev1.PodPhase_POD_PHASE_RUNNING, Ready: true}, state{running: true, ready: true}},
		{"crashing", &nodev1.Pod{Phase: nodev1.PodPhase_POD_PHASE_RUNNING, Reason: "CrashLoopBackOff", Message: "in 10s"}, state{running: true, trouble: "CrashLoopBackOff: in 10s"}},
		{"failed", &nodev1.Pod{Phase: nodev1.PodPhase_POD_PHASE_FAILED, Reason: "Evicted"}, state{trouble: "Failed: Evicted"}},
		{"done", &nodev1.Pod{Phase: nodev1.PodPhase_POD_PHASE_SUCCEEDED, Reason: "Completed"}, state{done: true}},
	} {
		if got := stateOf(c.pod); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTheHealthOfANodeIsItsWorstCondition(t *testing.T) {
	node := &nodev1.GetNodeResponse{Version: "v1", Conditions: []*nodev1.NodeCondition{
		{Type: "DiskPressure", Status: "True", Reason: "KubeletHasDiskPressure"}, {Type: "Ready", Status: "False", Reason: "RuntimeDown", Message: "no\nanswer"},
	}}
	if got, want := healthOf(node), (health{"v1", "the node is not ready: RuntimeDown: no\nanswer"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	node.Conditions[1].Status = "True"
	if got, want := healthOf(node), (health{"v1", "DiskPressure: KubeletHasDiskPressure"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAFaultIsOneShortLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"},
		{"two\nlines\x1b[31m", "two lines [31m"},
		{strings.Repeat("ä", 10), "ää..."},
	} {
		if got := line(c.text, 14); c.text != strings.Repeat("ä", 10) && got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
		if got := line(c.text, 8); len(got) > 8 {
			t.Errorf("%q: got %q, which is too long", c.text, got)
		}
	}
	many := []standing{}
	for _, key := range []string{"a", "b"} {
		text := web
		many = append(many, standing{key: key, view: view{text: &text, taken: text, refused: strings.Repeat("x", 1000)}})
	}
	if got := tally(1, many, health{}).Fault; len(got) > maxFault || !strings.HasSuffix(got, "... (and 1 more)") {
		t.Errorf("got %q of %d bytes", got, len(got))
	}
}
