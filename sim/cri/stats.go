package cri

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What every running container uses: enough for a client to have numbers that
// grow, or stay, as they should.
const (
	cpuPerSecond = time.Millisecond
	memoryBytes  = 1 << 20
	layerBytes   = 4 << 10
)

// ContainerStats says what one container uses.
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
	return &runtime.ContainerStatsResponse{Stats: c.stats()}, nil
}

// ListContainerStats says what the running containers use.
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
			response.Stats = append(response.Stats, c.stats())
		}
	}
	return response, nil
}

func (c *container) stats() *runtime.ContainerStats {
	now := nanos(time.Now())
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
		Cpu:    cpuUsage(now, c.cpu()),
		Memory: memoryUsage(now, memoryBytes),
	}
}

// cpu is the time that the container has spent on a processor.
func (c *container) cpu() time.Duration {
	return time.Since(c.startedAt) / (time.Second / cpuPerSecond)
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

// PodSandboxStats says what one pod uses.
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

// ListPodSandboxStats says what the pods that run use.
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

// sandboxStats is the sum over a pod's running containers.
func (s *Server) sandboxStats(b *sandbox) *runtime.PodSandboxStats {
	now := nanos(time.Now())
	linux := &runtime.LinuxPodSandboxStats{}
	var spent time.Duration
	var bytes uint64
	for _, c := range b.containers.all() {
		if !c.running() {
			continue
		}
		spent += c.cpu()
		bytes += memoryBytes
		linux.Containers = append(linux.Containers, c.stats())
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
