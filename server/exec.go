package server

import (
	"context"
	"fmt"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/runs"
)

// execService runs commands in containers. Live streams are in exec_stream.go,
// attach_stream.go and forward_stream.go.
type execService struct {
	nodev1.UnimplementedExecServiceServer
	entrance   runs.Entrance
	containers runs.Containers
	idle       func() time.Duration // after which a silent stream ends; zero: never
}

var _ nodev1.ExecServiceServer = (*execService)(nil)

const (
	defaultRunTimeout = 30 * time.Second
	maxRunTimeout     = time.Hour
)

// Run runs a command to its end.
func (s *execService) Run(ctx context.Context, r *nodev1.RunRequest) (*nodev1.RunResponse, error) {
	timeout := defaultRunTimeout
	if r.GetTimeout() != nil {
		timeout = r.GetTimeout().AsDuration()
	}
	if timeout <= 0 || timeout > maxRunTimeout {
		return nil, fmt.Errorf("timeout %s: must be greater than 0 and at most %s: %w",
			timeout, maxRunTimeout, node.ErrInvalid)
	}
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	run, err := s.entrance.ForCommand(ctx, key, r.GetContainer(), r.GetCommand())
	if err != nil {
		return nil, err
	}
	stdout, stderr, exit, err := s.containers.ExecSync(ctx, run.ID, r.GetCommand(), timeout)
	if err != nil {
		return nil, runs.Failed(r.GetCommand(), key, err)
	}
	return &nodev1.RunResponse{Stdout: stdout, Stderr: stderr, ExitCode: exit}, nil
}
