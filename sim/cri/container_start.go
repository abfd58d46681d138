package cri

import (
	"context"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// startErrorCode is the exit code of a container that could not start.
const startErrorCode = 128

// CreateContainer makes a container that waits to be started.
func (s *Server) CreateContainer(
	ctx context.Context, request *runtime.CreateContainerRequest,
) (*runtime.CreateContainerResponse, error) {
	config := request.GetConfig()
	if config.GetMetadata() == nil {
		return nil, status.Error(codes.InvalidArgument, "container config must include metadata")
	}
	s.mu.Lock()
	b, err := s.readySandbox(request.GetPodSandboxId())
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// The sandbox names the pod; containerd does not trust the request's copy either.
	name := containerName(config.GetMetadata(), b.config.GetMetadata())
	id, err := s.reserve(ctx, name)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.create(id, b, config); err != nil {
		delete(s.names, name)
		return nil, err
	}
	return &runtime.CreateContainerResponse{ContainerId: id}, nil
}

func (s *Server) readySandbox(id string) (*sandbox, error) {
	b, ok := s.sandboxes.get(id)
	if !ok {
		return nil, status.Errorf(codes.NotFound, "failed to find sandbox id %q: not found", id)
	}
	if !b.ready {
		return nil, status.Errorf(codes.NotFound, "failed to get sandbox container task: no running task found: task %s not found", id)
	}
	return b, nil
}

func (s *Server) create(id string, b *sandbox, config *runtime.ContainerConfig) error {
	// Look it up again: the sandbox may have gone while the call was held up.
	if _, err := s.readySandbox(b.id); err != nil {
		return err
	}
	image := s.localImage(config.GetImage().GetImage())
	if image == nil {
		return status.Errorf(codes.NotFound, "failed to resolve image %q: not found", config.GetImage().GetImage())
	}
	if err := s.resolveVolumes(config.GetMounts()); err != nil {
		return err
	}
	c := &container{
		id: id, sandbox: b, config: config, image: image, limits: config.GetLinux().GetResources(),
		createdAt: time.Now(), log: &logFile{},
	}
	directory, path := b.config.GetLogDirectory(), config.GetLogPath()
	if directory != "" && path != "" {
		c.log.path = filepath.Join(directory, path)
	}
	s.containers.put(id, c)
	b.containers.put(id, c)
	s.journal.add(c.effect(ContainerCreated))
	s.publishContainer(c, runtime.ContainerEventType_CONTAINER_CREATED_EVENT)
	return nil
}

// resolveVolumes resolves the images that serve as volumes. As in containerd, a status finds an
// image by any of its names, but a mount needs its full name.
func (s *Server) resolveVolumes(mounts []*runtime.Mount) error {
	for _, mount := range mounts {
		ref := mount.GetImage().GetImage()
		switch image := s.localImage(ref); {
		case mount.GetImage() == nil:
		case image == nil:
			return status.Errorf(codes.NotFound, "failed to mount image volume: failed to resolve image %q: not found", ref)
		case ref != image.id && ref != image.ref && ref != image.repoDigest():
			return status.Errorf(codes.NotFound, "failed to mount image volume: failed to get image volume ref %q: image %q: not found", ref, ref)
		}
	}
	return nil
}

// StartContainer starts a created container's program.
func (s *Server) StartContainer(
	_ context.Context, request *runtime.StartContainerRequest,
) (*runtime.StartContainerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		return nil, containerMissing(request.GetContainerId())
	}
	if c.state != runtime.ContainerState_CONTAINER_CREATED {
		return nil, status.Errorf(codes.Unknown, "failed to set starting state for container %q: container is in %s state", c.id, c.state)
	}
	if !c.sandbox.ready {
		return nil, status.Errorf(codes.Unknown, "sandbox container %q is not running", c.sandbox.id)
	}
	if err := s.start(c); err != nil {
		s.failStart(c, err)
		return nil, err
	}
	return &runtime.StartContainerResponse{}, nil
}

func (s *Server) start(c *container) error {
	prog, err := parseProgram(c.words())
	if err != nil {
		return status.Errorf(codes.Unknown, "failed to create containerd task: %v", err)
	}
	if prog.noStart {
		return status.Errorf(codes.Unknown, "failed to create containerd task: exec: %q: executable file not found in $PATH", c.words()[0])
	}
	if s.config.WriteLogs {
		if err := c.log.begin(prog.lines); err != nil {
			return status.Errorf(codes.Unknown, "failed to create container loggers: %v", err)
		}
	}
	c.state = runtime.ContainerState_CONTAINER_RUNNING
	c.startedAt = time.Now()
	c.process = process{program: prog, exited: make(chan struct{})}
	s.journal.add(c.effect(ContainerStarted))
	s.publishContainer(c, runtime.ContainerEventType_CONTAINER_STARTED_EVENT)
	if prog.lifetime != forever {
		s.after(c, prog.lifetime, func() { s.exit(c, prog.code, prog.reason()) })
	}
	return nil
}

func (p program) reason() string {
	if p.oom {
		return "OOMKilled"
	}
	return exitReason(p.code)
}

// failStart leaves a container as containerd does when a start fails: exited, with one time for
// start and end.
func (s *Server) failStart(c *container, cause error) {
	c.state = runtime.ContainerState_CONTAINER_EXITED
	c.startedAt, c.finishedAt = time.Time{}, time.Now()
	c.code, c.reason, c.message = startErrorCode, "StartError", status.Convert(cause).Message()
}
