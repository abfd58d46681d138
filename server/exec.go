package server

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
	"nodal/server/wire"
)

// Containers reaches running containers for clients that talk to them.
type Containers interface {
	// ExecSync runs a command to its end and collects what it prints. A timeout
	// of zero is none. The command's exit code is no error.
	ExecSync(ctx context.Context, containerID string, command []string, timeout time.Duration) (stdout, stderr []byte, exit int32, err error)
	// Exec runs a command with live streams to its end.
	Exec(ctx context.Context, containerID string, command []string, streams node.Streams) (exit int32, err error)
	// Attach connects live streams to what a container runs, until that ends.
	Attach(ctx context.Context, containerID string, streams node.Streams) error
	// PortForward connects a stream with a port inside a sandbox until that is closed.
	PortForward(ctx context.Context, sandboxID string, port int32, client io.ReadWriter) error
}

// execService lets clients into pods. The live forms are in exec_stream.go.
type execService struct {
	nodev1.UnimplementedExecServiceServer
	store   *store.Store
	runtime Containers
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
		return nil, fmt.Errorf("timeout %s: must be greater than 0 and at most %s: %w", timeout, maxRunTimeout, node.ErrInvalid)
	}
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	run, err := s.target(key, r.GetContainer(), r.GetCommand())
	if err != nil {
		return nil, err
	}
	stdout, stderr, exit, err := s.runtime.ExecSync(ctx, run.ID, r.GetCommand(), timeout)
	if err != nil {
		return nil, notRun(r.GetCommand(), key, err)
	}
	return &nodev1.RunResponse{Stdout: stdout, Stderr: stderr, ExitCode: exit}, nil
}

// target returns the run in which a command can run.
func (s *execService) target(key node.Key, container string, command []string) (node.Container, error) {
	if len(command) == 0 || command[0] == "" {
		return node.Container{}, fmt.Errorf("run in container %q of pod %s: no command: %w", container, key, node.ErrInvalid)
	}
	return s.running(key, container)
}

// running returns the run of a container that goes on.
func (s *execService) running(key node.Key, container string) (node.Container, error) {
	view, err := find(s.store, key)
	if err != nil {
		return node.Container{}, err
	}
	if !hasContainer(view.Slot.Pod.Object, container) {
		return node.Container{}, fmt.Errorf("container %q in pod %s: %w", container, key, node.ErrNotFound)
	}
	begun := runs(view, container)
	if len(begun) == 0 || begun[0].State != node.ContainerRunning {
		return node.Container{}, fmt.Errorf("container %q in pod %s does not run: %w", container, key, node.ErrConflict)
	}
	return begun[0], nil
}

// notRun tells of a command that did not come to its end. That there is no
// such program, or that it may not be executed, the runtime says in words only.
func notRun(command []string, key node.Key, err error) error {
	known := wire.Known(err)
	for _, words := range []string{"executable file not found", "no such file or directory", "permission denied"} {
		if !known && strings.Contains(err.Error(), words) {
			err = fmt.Errorf("%w: %w", err, node.ErrInvalid)
			break
		}
	}
	return fmt.Errorf("run %q in pod %s: %w", command[0], key, err)
}
