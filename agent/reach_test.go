package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/cgroups"
	"nodal/node"
)

func TestRuntimeIsCalledByItsOwnName(t *testing.T) {
	log := slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))
	for _, c := range []struct {
		status node.RuntimeStatus
		err    error
		want   string
	}{
		{node.RuntimeStatus{Name: "cri-o"}, nil, "cri-o"},
		{node.RuntimeStatus{}, errors.New("away"), "containerd"},
	} {
		ask := func(context.Context) (node.RuntimeStatus, error) { return c.status, c.err }
		if got := askName(t.Context(), ask, log); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestPodsWithoutCgroupsOfTheirOwnBelongToTheConfiguredOne(t *testing.T) {
	if got := fixedParent("/pods", "/root", nil)(nil); got != "/pods" {
		t.Errorf("configured: got %q, want /pods", got)
	}
	if got := fixedParent("", "/root", nil)(nil); got != "" {
		t.Errorf("of another runtime: got %q, want its own choice", got)
	}
}

func TestPodsOfOtherKubeletsAreToldApartWhereTheyMayBe(t *testing.T) {
	ours := func(types.UID) bool { return true }
	for _, c := range []struct {
		name       string
		own        bool
		configured string
		named      bool // after the node's root directory
	}{
		{"the agent's own runtime", true, "", true},
		{"the agent's own runtime below a configured cgroup", true, "/pods", false},
		{"another runtime", false, "", false},
	} {
		got := placeOf("/root", c.own, ours, cgroups.Config{Root: c.configured})
		if (got.Name != "") != c.named || (got.Ours == nil) != c.named {
			t.Errorf("%s: cgroup %q, pods told apart: %t", c.name, got.Name, got.Ours != nil)
		}
	}
}
