package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"nodal/node"
	"nodal/server/auth"
	"nodal/workload"
)

// runWorkloads runs the workloads of the node until the test ends, or until the returned function is called.
func (n *node1) runWorkloads(t *testing.T) (stop func()) {
	t.Helper()
	id := auth.Identity{Name: "workloads", Role: auth.RoleOperator, Via: auth.ViaWorkloads}
	ctx, cancel := context.WithCancel(auth.NewContext(t.Context(), id))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		workload.New(workload.Config{API: n.server.Local(), Clock: time.Now, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// await waits until the node is as it should be.
func (n *node1) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		changed := n.store.Changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s: in vain", what)
		}
	}
}

// working returns the names of the pods that are not deleted.
func (n *node1) working() (names []string) {
	views, _ := n.store.Views()
	for _, v := range views {
		if v.Slot.Pod.Deletion == nil {
			names = append(names, v.Key.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestAClientOfTheAPIRunsWorkloads(t *testing.T) {
	n := newNode(t)
	stop := n.runWorkloads(t)
	n.do(t, "POST", setsOfKube, calmSet, "Content-Type", "application/json")
	n.await(t, "two pods", func() bool { return len(n.working()) == 2 })
	stop()
	first := n.working()
	n.do(t, "PATCH", setsOfKube+"/calm/scale", `{"spec":{"replicas":4}}`, "Content-Type", "application/merge-patch+json")
	stop = n.runWorkloads(t) // another one knows nothing of the first
	n.await(t, "four pods", func() bool { return len(n.working()) == 4 })
	for _, name := range first {
		if !slices.Contains(n.working(), name) {
			t.Errorf("%s of %v is not among %v", name, first, n.working())
		}
	}
	n.await(t, "its status", func() bool {
		o, _ := n.store.Object(node.ObjectRef{Kind: node.ReplicaSet, Namespace: "default", Name: "calm"})
		status := node.As[*appsv1.ReplicaSet](o).Status
		return status.Replicas == 4 && status.ObservedGeneration == 2
	})
	n.do(t, "DELETE", setsOfKube+"/calm", "")
	if left := n.working(); len(left) != 0 {
		t.Errorf("after its deletion there are %v", left)
	}
	stop()
}

func TestWhatKeepsAWorkloadFromItsPodsIsSaid(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.State.Intake.Cordon = func() node.Cordon { return node.Cordon{Since: time.Unix(1, 0)} }
	})
	n.runWorkloads(t)
	n.do(t, "POST", setsOfKube, calmSet, "Content-Type", "application/json")
	n.await(t, "the condition", func() bool {
		got := n.do(t, "GET", setsOfKube+"/calm", "").body
		return strings.Contains(got, `"reason":"FailedCreate"`) && strings.Contains(got, "cordoned")
	})
	if got := n.working(); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
}
