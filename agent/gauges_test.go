package agent

import (
	"context"
	"errors"
	"testing"

	"nodal/agent/cgroups"
	"nodal/host/cgroup"
	"nodal/node"
	"nodal/reconciler"
)

// answers is the health of a runtime that has one answer.
type answers struct {
	reconciler.RuntimeHealth
	node.RuntimeStatus
}

func (a answers) Status(context.Context) (node.RuntimeStatus, error) { return a.RuntimeStatus, nil }

func TestARuntimesStatusTellsWhatItsNetworkCannotDo(t *testing.T) {
	for _, c := range []struct {
		status node.RuntimeStatus
		want   string
	}{
		{node.RuntimeStatus{Ready: true, NetworkReady: true}, "no guard"},
		{node.RuntimeStatus{Ready: true, Message: "no plugin"}, "no plugin"},
		{node.RuntimeStatus{}, ""},
	} {
		h := withFault{answers{RuntimeStatus: c.status}, func() string { return "no guard" }}
		if got, err := h.Status(t.Context()); err != nil || got.Message != c.want {
			t.Errorf("%+v: got message %q (%v), want %q", c.status, got.Message, err, c.want)
		}
	}
}

func TestARuntimeIsNotReadyIfNoPodCanHaveACgroup(t *testing.T) {
	unable := cgroups.NewPods(cgroups.Config{
		Driver: func(context.Context) (string, error) { return "", errors.New("systemd does not run on this machine") },
	})
	ready := node.RuntimeStatus{Ready: true, NetworkReady: true}
	for _, c := range []struct {
		name   string
		status node.RuntimeStatus
		pods   *cgroups.Pods
		ready  bool
		want   string
	}{
		{"no pod can have one", ready, unable, false, "systemd does not run on this machine"},
		{"pods have none", ready, nil, true, ""},
		{"the runtime is not ready", node.RuntimeStatus{Message: "it begins"}, unable, false, "it begins"},
	} {
		got, err := withCgroups{answers{RuntimeStatus: c.status}, c.pods}.Status(t.Context())
		if err != nil || got.Ready != c.ready || got.Message != c.want {
			t.Errorf("%s: got %+v, %v, want ready %v and the message %q", c.name, got, err, c.ready, c.want)
		}
	}
}

func TestPodsAreMeasuredWhereTheyHaveCgroupsOfTheirOwn(t *testing.T) {
	mounts := cgroup.Mounts{Version: 2}
	if got := counted(mounts, nil, nil, ""); got.Version != 2 || got.Pod != nil {
		t.Errorf("without cgroups of their own: got %+v", got)
	}
	if got := counted(mounts, cgroups.NewPods(cgroups.Config{}), nil, ""); got.Pod == nil {
		t.Error("pods with cgroups of their own are not measured there")
	}
}
