package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod's place in the runtime.
type sandbox struct {
	id        string
	config    *runtime.PodSandboxConfig
	handler   string
	ready     bool
	ip        string // empty on the host's network and once stopped
	createdAt time.Time
	resources *runtime.LinuxContainerResources // that it was told last

	containers *table[*container]
}

func (b *sandbox) pod() Pod {
	m := b.config.GetMetadata()
	return Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid()}
}

func (b *sandbox) hostNetwork() bool {
	options := b.config.GetLinux().GetSecurityContext().GetNamespaceOptions()
	return options.GetNetwork() == runtime.NamespaceMode_NODE
}

func (b *sandbox) state() runtime.PodSandboxState {
	if b.ready {
		return runtime.PodSandboxState_SANDBOX_READY
	}
	return runtime.PodSandboxState_SANDBOX_NOTREADY
}

func (b *sandbox) effect(kind EffectKind) Effect {
	return Effect{Kind: kind, Pod: b.pod(), SandboxID: b.id, Attempt: b.config.GetMetadata().GetAttempt()}
}

func sandboxMissing(id string) error {
	return status.Errorf(codes.NotFound, "an error occurred when try to find sandbox %q: not found", id)
}

// RunPodSandbox makes a sandbox and gives it an address.
func (s *Server) RunPodSandbox(
	ctx context.Context, request *runtime.RunPodSandboxRequest,
) (*runtime.RunPodSandboxResponse, error) {
	metadata := request.GetConfig().GetMetadata()
	if metadata == nil {
		return nil, status.Error(codes.InvalidArgument, "sandbox config must include metadata")
	}
	name := sandboxName(metadata)
	id, err := s.reserve(ctx, name)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	b := &sandbox{
		id: id, config: request.GetConfig(), handler: request.GetRuntimeHandler(),
		ready: true, createdAt: time.Now(), containers: newTable[*container](),
	}
	if err := s.connect(b); err != nil {
		delete(s.names, name)
		return nil, err
	}
	s.sandboxes.put(id, b)
	s.journal.add(b.effect(SandboxStarted))
	s.publishSandbox(b, runtime.ContainerEventType_CONTAINER_CREATED_EVENT)
	s.publishSandbox(b, runtime.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &runtime.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// connect checks that the node can serve the sandbox, and assigns its address.
func (s *Server) connect(b *sandbox) error {
	known := slices.ContainsFunc(s.config.Handlers, func(h *runtime.RuntimeHandler) bool {
		return h.GetName() == b.handler
	})
	if b.handler != "" && !known {
		return status.Errorf(codes.Unknown, "failed to get sandbox runtime: no runtime for %q is configured", b.handler)
	}
	if b.hostNetwork() {
		return nil
	}
	if !s.ready.network {
		return status.Error(codes.Unknown, "failed to setup network for sandbox: cni plugin not initialized")
	}
	s.serial++
	b.ip = fmt.Sprintf("10.%d.%d.%d", 88+s.serial>>16, s.serial>>8&0xff, s.serial&0xff)
	return nil
}

// StopPodSandbox kills the containers of a sandbox and releases its address.
func (s *Server) StopPodSandbox(
	_ context.Context, request *runtime.StopPodSandboxRequest,
) (*runtime.StopPodSandboxResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(request.GetPodSandboxId())
	switch {
	case ok:
		s.stopSandbox(b)
	case s.config.Legacy:
		return nil, sandboxMissing(request.GetPodSandboxId())
	}
	return &runtime.StopPodSandboxResponse{}, nil
}

func (s *Server) stopSandbox(b *sandbox) {
	for _, c := range b.containers.all() {
		s.kill(c, 0)
	}
	b.ip = ""
	s.endSandbox(b)
}

// endSandbox ends a sandbox's own process.
func (s *Server) endSandbox(b *sandbox) {
	if !b.ready {
		return
	}
	b.ready = false
	s.journal.add(b.effect(SandboxStopped))
	s.publishSandbox(b, runtime.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// RemovePodSandbox removes a sandbox and its containers, by force if they run.
func (s *Server) RemovePodSandbox(
	_ context.Context, request *runtime.RemovePodSandboxRequest,
) (*runtime.RemovePodSandboxResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(request.GetPodSandboxId())
	if !ok {
		return &runtime.RemovePodSandboxResponse{}, nil
	}
	s.stopSandbox(b)
	for _, c := range b.containers.all() {
		s.removeContainer(c)
	}
	s.sandboxes.remove(b.id)
	delete(s.names, sandboxName(b.config.GetMetadata()))
	s.journal.add(b.effect(SandboxRemoved))
	s.publishSandbox(b, runtime.ContainerEventType_CONTAINER_DELETED_EVENT)
	return &runtime.RemovePodSandboxResponse{}, nil
}

// UpdatePodSandboxResources notes the limits of a pod as a whole.
func (s *Server) UpdatePodSandboxResources(
	_ context.Context, request *runtime.UpdatePodSandboxResourcesRequest,
) (*runtime.UpdatePodSandboxResourcesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(request.GetPodSandboxId())
	if !ok {
		return nil, sandboxMissing(request.GetPodSandboxId())
	}
	b.resources = request.GetResources()
	return &runtime.UpdatePodSandboxResourcesResponse{}, nil
}
