package cri

import (
	"fmt"
	"maps"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Snapshot is the truth at one moment, whatever clients were answered. Lists are in the order of
// creation.
type Snapshot struct {
	Sandboxes  []Sandbox
	Containers []Container
	Images     []string // full references of the images on the machine
}

// Sandbox is a sandbox as it truly is.
type Sandbox struct {
	ID          string
	Pod         Pod
	Attempt     uint32
	Ready       bool
	IP          string
	CreatedAt   time.Time
	Labels      map[string]string
	Annotations map[string]string
	Resources   *runtime.LinuxContainerResources // that it was told last, of the pod as a whole
}

// Container is a container as it truly is.
type Container struct {
	ID          string
	SandboxID   string
	Pod         Pod
	Name        string
	Attempt     uint32
	State       runtime.ContainerState
	CreatedAt   time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
	ExitCode    int32
	Reason      string
	Image       string
	Labels      map[string]string
	Annotations map[string]string
	LogPath     string
}

// Running reports whether the container's process is alive.
func (c Container) Running() bool { return c.State == runtime.ContainerState_CONTAINER_RUNNING }

// Snapshot returns the truth at this moment.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var snapshot Snapshot
	for _, b := range s.sandboxes.all() {
		snapshot.Sandboxes = append(snapshot.Sandboxes, b.snapshot())
	}
	for _, c := range s.containers.all() {
		snapshot.Containers = append(snapshot.Containers, c.snapshot())
	}
	for _, image := range s.images.all() {
		if image.Local {
			snapshot.Images = append(snapshot.Images, image.ref)
		}
	}
	return snapshot
}

func (b *sandbox) snapshot() Sandbox {
	return Sandbox{
		ID: b.id, Pod: b.pod(), Attempt: b.config.GetMetadata().GetAttempt(),
		Ready: b.ready, IP: b.ip, CreatedAt: b.createdAt,
		Labels: maps.Clone(b.config.GetLabels()), Annotations: maps.Clone(b.config.GetAnnotations()),
		Resources: b.resources,
	}
}

func (c *container) snapshot() Container {
	return Container{
		ID: c.id, SandboxID: c.sandbox.id, Pod: c.sandbox.pod(),
		Name: c.config.GetMetadata().GetName(), Attempt: c.config.GetMetadata().GetAttempt(),
		State: c.state, CreatedAt: c.createdAt, StartedAt: c.startedAt, FinishedAt: c.finishedAt,
		ExitCode: c.code, Reason: c.reason, Image: c.image.ref,
		Labels: maps.Clone(c.config.GetLabels()), Annotations: maps.Clone(c.config.GetAnnotations()),
		LogPath: c.log.path,
	}
}

// Kill ends a running container's process from outside, like a crash.
func (s *Server) Kill(containerID string, exitCode int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.runningContainer(containerID)
	if err != nil {
		return fmt.Errorf("kill container: %w", err)
	}
	s.exit(c, exitCode, exitReason(exitCode))
	return nil
}

// KillSandbox ends the sandbox's own process from outside. Its containers run on.
func (s *Server) KillSandbox(sandboxID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(sandboxID)
	if !ok || !b.ready {
		return fmt.Errorf("kill sandbox %q: it is not running", sandboxID)
	}
	s.endSandbox(b)
	return nil
}

// Print makes a running container write a line to Stdout or Stderr.
func (s *Server) Print(containerID, stream, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.runningContainer(containerID)
	if err != nil {
		return fmt.Errorf("print in container: %w", err)
	}
	return c.log.write(logLine{stream: stream, text: text})
}

func (s *Server) runningContainer(id string) (*container, error) {
	c, ok := s.containers.get(id)
	if !ok || !c.running() {
		return nil, fmt.Errorf("container %q is not running", id)
	}
	return c, nil
}
