package cri

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The exit codes after a signal.
const (
	termCode = 128 + 15
	killCode = 128 + 9
)

// StopContainer sends SIGTERM, and SIGKILL after the timeout. A client that gives up in between
// leaves the container with its SIGTERM, not killed.
func (s *Server) StopContainer(
	ctx context.Context, request *runtime.StopContainerRequest,
) (*runtime.StopContainerResponse, error) {
	grace := time.Duration(request.GetTimeout()) * time.Second
	s.mu.Lock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok && s.config.Legacy {
		s.mu.Unlock()
		return nil, containerMissing(request.GetContainerId())
	}
	if !ok || !c.running() {
		s.mu.Unlock()
		return &runtime.StopContainerResponse{}, nil
	}
	exited := c.process.exited
	if grace > 0 {
		s.terminate(c, grace)
	}
	s.mu.Unlock()

	if grace > 0 {
		if err := waitExit(ctx, exited, grace); err != nil {
			return nil, status.Errorf(codes.Unknown, "failed to stop container %q: %v", c.id, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill(c, grace)
	return &runtime.StopContainerResponse{}, nil
}

// waitExit waits for the end of the process or of the grace period. It fails only if the caller
// gives up first.
func waitExit(ctx context.Context, exited <-chan struct{}, grace time.Duration) error {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for the container to exit: %w", ctx.Err())
	}
	return nil
}

// terminate sends SIGTERM, once in the life of a runtime process.
func (s *Server) terminate(c *container, grace time.Duration) {
	if c.process.termSent {
		return
	}
	c.process.termSent = true
	s.journalSignal(c, Term, grace)
	switch delay := c.process.program.onTerm; delay {
	case forever:
	case 0:
		s.exit(c, termCode, exitReason(termCode))
	default:
		s.after(c, delay, func() { s.exit(c, termCode, exitReason(termCode)) })
	}
}

// kill sends SIGKILL to a container that still runs.
func (s *Server) kill(c *container, grace time.Duration) {
	if !c.running() {
		return
	}
	s.journalSignal(c, Kill, grace)
	s.exit(c, killCode, exitReason(killCode))
}

func (s *Server) journalSignal(c *container, signal Signal, grace time.Duration) {
	e := c.effect(ContainerSignaled)
	e.Signal, e.Grace = signal, grace
	s.journal.add(e)
}

// RemoveContainer removes a container, by force if it runs.
func (s *Server) RemoveContainer(
	_ context.Context, request *runtime.RemoveContainerRequest,
) (*runtime.RemoveContainerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.containers.get(request.GetContainerId()); ok {
		s.removeContainer(c)
	}
	return &runtime.RemoveContainerResponse{}, nil
}

func (s *Server) removeContainer(c *container) {
	s.kill(c, 0)
	s.containers.remove(c.id)
	c.sandbox.containers.remove(c.id)
	delete(s.names, containerName(c.config.GetMetadata(), c.sandbox.config.GetMetadata()))
	s.journal.add(c.effect(ContainerRemoved))
	s.publishContainer(c, runtime.ContainerEventType_CONTAINER_DELETED_EVENT)
}
