package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

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
