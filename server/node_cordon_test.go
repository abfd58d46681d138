package server

import (
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// heldCordon keeps a cordon in memory.
type heldCordon struct {
	state   node.Cordon
	changed node.Bell
}

var _ Cordon = (*heldCordon)(nil)

func (h *heldCordon) State() node.Cordon       { return h.state }
func (h *heldCordon) Changed() <-chan struct{} { return h.changed.Heard() }

func (h *heldCordon) Set(reason string) (node.Cordon, error) {
	h.state = node.Cordon{Since: time.Unix(1000, 0), Reason: reason}
	h.changed.Ring()
	return h.state, nil
}

func (h *heldCordon) Lift() error {
	h.state = node.Cordon{}
	h.changed.Ring()
	return nil
}

// cordonable is a node that can be cordoned.
func cordonable(t *testing.T) (*node1, *heldCordon) {
	held := &heldCordon{}
	return newNode(t, func(c *Config) {
		c.Machine.Cordon, c.State.Intake.Cordon = held, held.State
	}), held
}

func TestAnAdminCordonsTheNode(t *testing.T) {
	n, held := cordonable(t)
	const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"},"spec":{"containers":[{"name":"a","image":"b:1"}]}}`
	const node1, merge = "/api/v1/nodes/node1", "application/strategic-merge-patch+json"
	for _, c := range []struct {
		name, method, path, body, kind string
		status                         int
		want                           string
	}{
		{"a long reason", "POST", "/v1/node:cordon", `{"reason":"` + strings.Repeat("x", 257) + `"}`, "", 400, "257 bytes"},
		{"a cordon", "POST", "/v1/node:cordon", `{"reason":"a new disk"}`, "", 200, `"sinceAt":"1970-01-01T00:16:40Z"`},
		{"the node", "GET", "/v1/node", "", "", 200, `"cordon":{"sinceAt":"1970-01-01T00:16:40Z","reason":"a new disk"}`},
		{"the node for kubectl", "GET", node1, "", "", 200, `"unschedulable":true`},
		{"its taint", "GET", node1, "", "", 200, `"key":"node.kubernetes.io/unschedulable"`},
		{"a new pod", "POST", "/v1/manifests", pod, "", 409, "cordoned (a new disk)"},
		{"a new pod by kubectl", "POST", "/api/v1/namespaces/default/pods", pod, "", 409, "kubelet uncordon"},
		{"kubectl cordon beside it", "PATCH", node1, `{"spec":{"unschedulable":true}}`, merge, 200, `"unschedulable":true`},
		{"which keeps the reason", "GET", "/v1/node", "", "", 200, `"reason":"a new disk"`},
		{"kubectl uncordon, dry", "PATCH", node1 + "?dryRun=All", `{"spec":{"unschedulable":null}}`, merge, 200, `"kind":"Node"`},
		{"which changed nothing", "GET", node1, "", "", 200, `"unschedulable":true`},
		{"kubectl uncordon", "PATCH", node1, `{"spec":{"unschedulable":null}}`, merge, 200, `"kind":"Node"`},
		{"a pod", "POST", "/v1/manifests", pod, "", 200, "CREATED"},
		{"kubectl cordon", "PATCH", node1, `{"spec":{"unschedulable":true}}`, merge, 200, `"unschedulable":true`},
		{"no boolean", "PATCH", node1, `{"spec":{"unschedulable":"yes"}}`, merge, 422, "true or false"},
		{"a label", "PATCH", node1, `{"metadata":{"labels":{"a":"b"}}}`, merge, 422, "only spec.unschedulable"},
		{"another taint", "PATCH", node1, `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`, merge, 422, "only spec.unschedulable"},
		{"an apply", "PATCH", node1, `{}`, "application/apply-patch+yaml", 405, "whole objects"},
		{"another node", "PATCH", "/api/v1/nodes/other", `{"spec":{"unschedulable":true}}`, merge, 404, "NotFound"},
		{"a replacement", "PUT", node1, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"node1"}}`, "", 422, "only spec.unschedulable"},
		{"an uncordon", "POST", "/v1/node:uncordon", "{}", "", 200, "{}"},
	} {
		var headers []string
		if c.kind != "" {
			headers = []string{"Content-Type", c.kind}
		}
		if got := n.do(t, c.method, c.path, c.body, headers...); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: got %d %.1000s\nwant %d and %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
	if held.state.Closed() {
		t.Error("the node is cordoned in the end")
	}
}

// A drain lists the pods once it sees the cordon, also that of another client: a pod that was taken before is among them.
func TestACordonWaitsForAPodThatIsBeingTaken(t *testing.T) {
	n, held := cordonable(t)
	begun, end := make(chan struct{}), make(chan struct{})
	taken := make(chan error)
	go func() {
		_, err := n.store.Transact(func(*store.Tx) error { close(begun); <-end; return nil })
		taken <- err
	}()
	<-begun
	set, done := held.changed.Heard(), make(chan int)
	go func() { done <- n.do(t, "POST", "/v1/node:cordon", "{}").status }()
	select {
	case <-set:
		t.Error("the cordon is seen while a pod is being taken")
	case <-time.After(100 * time.Millisecond):
	}
	close(end)
	if err, status := <-taken, <-done; err != nil || status != 200 {
		t.Errorf("got %v and %d, want both done", err, status)
	}
}

func TestANodeOfAClusterIsCordonedThere(t *testing.T) {
	held := &heldCordon{}
	n := newNode(t, func(c *Config) {
		c.Machine.Cordon = held
		c.State.Sources = store.NewSources(map[node.Source]string{node.SourceCluster: "a cluster"})
	})
	if got := n.do(t, "POST", "/v1/node:cordon", "{}"); got.status != 409 || !strings.Contains(got.body, "kubectl cordon") || held.state.Closed() {
		t.Errorf("got %d %s, cordoned: %t", got.status, got.body, held.state.Closed())
	}
}

func TestANodeWatchReportsACordon(t *testing.T) {
	watchNode(t, func(t *testing.T, _ *node1, r *nodeReader) {
		time.Sleep(time.Minute) // of a simulated clock
		if _, err := r.cordon.Set("a new disk"); err != nil {
			t.Fatal(err)
		}
		if got := r.next(time.Second).GetCordon().GetReason(); got != "a new disk" {
			t.Errorf("got %q", got)
		}
	})
}
