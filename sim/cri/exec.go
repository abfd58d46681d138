package cri

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecResult holds the outcome of a command in a container.
type ExecResult struct {
	Stdout   string
	Stderr   string
	ExitCode int32
	Takes    time.Duration // negative: the command never ends by itself
}

// ExecSync runs a command in a running container, up to the timeout.
func (s *Server) ExecSync(ctx context.Context, request *runtime.ExecSyncRequest) (*runtime.ExecSyncResponse, error) {
	s.mu.Lock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		s.mu.Unlock()
		return nil, containerMissing(request.GetContainerId())
	}
	state, seen, exited := c.state, c.snapshot(), c.process.exited
	s.mu.Unlock()
	if state != runtime.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.Unknown, "container is in %s state", state)
	}

	result, err := s.script(seen, request.GetCmd())
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(request.GetTimeout()) * time.Second
	if err := result.wait(ctx, exited, timeout); err != nil {
		return nil, err
	}
	return &runtime.ExecSyncResponse{
		Stdout: []byte(result.Stdout), Stderr: []byte(result.Stderr), ExitCode: result.ExitCode,
	}, nil
}

func (s *Server) script(c Container, cmd []string) (ExecResult, error) {
	if s.config.Exec != nil {
		if result, ok := s.config.Exec(c, cmd); ok {
			return result, nil
		}
	}
	prog, err := parseProgram(cmd)
	if err != nil || prog.noStart {
		return ExecResult{}, status.Errorf(codes.Unknown, "failed to exec in container: exec: %q: executable file not found in $PATH", strings.Join(cmd, " "))
	}
	result := ExecResult{ExitCode: prog.code, Takes: prog.lifetime}
	for _, line := range prog.lines {
		if line.stream == Stderr {
			result.Stderr += line.text + "\n"
		} else {
			result.Stdout += line.text + "\n"
		}
	}
	return result, nil
}

// wait waits as long as the command runs. A command does not outlive its container.
func (r *ExecResult) wait(ctx context.Context, exited <-chan struct{}, timeout time.Duration) error {
	var done, late <-chan time.Time
	if r.Takes >= 0 {
		timer := time.NewTimer(r.Takes)
		defer timer.Stop()
		done = timer.C
	}
	if timeout > 0 && (r.Takes < 0 || timeout < r.Takes) {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-done:
	case <-exited:
		r.ExitCode = killCode
	case <-late:
		return status.Errorf(codes.DeadlineExceeded, "failed to exec in container: timeout %s exceeded: context deadline exceeded", timeout)
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}
