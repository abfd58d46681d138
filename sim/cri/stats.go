package cri

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Usage of a running container without Config.Load. The numbers grow, or stay, as a client expects.
const (
	cpuPerSecond = time.Millisecond
	memoryBytes  = 1 << 20
	layerBytes   = 4 << 10
)

// ContainerStats returns the usage of one container.
func (s *Server) ContainerStats(
	_ context.Context, request *runtime.ContainerStatsRequest,
) (*runtime.ContainerStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		return nil, containerMissing(request.GetContainerId())
	}
	if !c.running() {
		return nil, status.Errorf(codes.Unknown, "unexpected metrics response: container %q is not running", c.id)
	}
	return &runtime.ContainerStatsResponse{Stats: s.containerStats(c)}, nil
}

// ListContainerStats returns the usage of all running containers.
func (s *Server) ListContainerStats(
	_ context.Context, request *runtime.ListContainerStatsRequest,
) (*runtime.ListContainerStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	filter := request.GetFilter()
	response := &runtime.ListContainerStatsResponse{}
	for _, c := range s.containers.all() {
		if c.running() && c.matches(&runtime.ContainerFilter{
			Id: filter.GetId(), PodSandboxId: filter.GetPodSandboxId(), LabelSelector: filter.GetLabelSelector(),
		}) {
			response.Stats = append(response.Stats, s.containerStats(c))
		}
	}
	return response, nil
}

func (s *Server) containerStats(c *container) *runtime.ContainerStats {
	now := nanos(time.Now())
	spent, bytes := s.load(c)
	return &runtime.ContainerStats{
		Attributes: &runtime.ContainerAttributes{
			Id: c.id, Metadata: c.config.GetMetadata(),
			Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		},
		WritableLayer: &runtime.FilesystemUsage{
			Timestamp:  now,
			FsId:       &runtime.FilesystemIdentifier{Mountpoint: imageMountpoint},
			UsedBytes:  &runtime.UInt64Value{Value: layerBytes},
			InodesUsed: &runtime.UInt64Value{Value: 1},
		},
		Cpu:    cpuUsage(now, spent),
		Memory: memoryUsage(now, bytes),
	}
}

// load returns the CPU time of a container, and its memory.
func (s *Server) load(c *container) (time.Duration, uint64) {
	ran := time.Since(c.startedAt)
	if s.config.Load == nil {
		return ran / (time.Second / cpuPerSecond), memoryBytes
	}
	return s.config.Load(c.snapshot(), ran)
}

func cpuUsage(now int64, spent time.Duration) *runtime.CpuUsage {
	return &runtime.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: &runtime.UInt64Value{Value: uint64(spent)}}
}

func memoryUsage(now int64, bytes uint64) *runtime.MemoryUsage {
	return &runtime.MemoryUsage{
		Timestamp:       now,
		WorkingSetBytes: &runtime.UInt64Value{Value: bytes},
		UsageBytes:      &runtime.UInt64Value{Value: bytes},
		RssBytes:        &runtime.UInt64Value{Value: bytes},
	}
}

// PodSandboxStats returns the usage of one pod.
func (s *Server) PodSandboxStats(
	_ context.Context, request *runtime.PodSandboxStatsRequest,
) (*runtime.PodSandboxStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(request.GetPodSandboxId())
	if !ok {
		return nil, sandboxMissing(request.GetPodSandboxId())
	}
	if !b.ready {
		return nil, status.Errorf(codes.Unknown, "failed to get metrics of sandbox %q: it is not running", b.id)
	}
	return &runtime.PodSandboxStatsResponse{Stats: s.sandboxStats(b)}, nil
}

// ListPodSandboxStats returns the usage of all running pods.
func (s *Server) ListPodSandboxStats(
	_ context.Context, request *runtime.ListPodSandboxStatsRequest,
) (*runtime.ListPodSandboxStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	filter := &runtime.PodSandboxFilter{
		Id: request.GetFilter().GetId(), LabelSelector: request.GetFilter().GetLabelSelector(),
	}
	response := &runtime.ListPodSandboxStatsResponse{}
	for _, b := range s.sandboxes.all() {
		if b.ready && b.matches(filter) {
			response.Stats = append(response.Stats, s.sandboxStats(b))
		}
	}
	return response, nil
}

// sandboxStats returns the sum over a pod's running containers.
func (s *Server) sandboxStats(b *sandbox) *runtime.PodSandboxStats {
	now := nanos(time.Now())
	linux := &runtime.LinuxPodSandboxStats{}
	var spent time.Duration
	var bytes uint64
	for _, c := range b.containers.all() {
		if !c.running() {
			continue
		}
		cpu, memory := s.load(c)
		spent += cpu
		bytes += memory
		linux.Containers = append(linux.Containers, s.containerStats(c))
	}
	linux.Cpu = cpuUsage(now, spent)
	linux.Memory = memoryUsage(now, bytes)
	return &runtime.PodSandboxStats{
		Attributes: &runtime.PodSandboxAttributes{
			Id: b.id, Metadata: b.config.GetMetadata(),
			Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations(),
		},
		Linux: linux,
	}
}
