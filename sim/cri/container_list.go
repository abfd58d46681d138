package cri

import (
	"cmp"
	"context"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStatus describes one container.
func (s *Server) ContainerStatus(
	_ context.Context, request *runtime.ContainerStatusRequest,
) (*runtime.ContainerStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		return nil, containerMissing(request.GetContainerId())
	}
	return &runtime.ContainerStatusResponse{Status: s.containerStatus(c)}, nil
}

func (s *Server) containerStatus(c *container) *runtime.ContainerStatus {
	status := &runtime.ContainerStatus{
		Id:          c.id,
		Metadata:    c.config.GetMetadata(),
		State:       c.state,
		CreatedAt:   nanos(c.createdAt),
		StartedAt:   nanos(c.startedAt),
		FinishedAt:  nanos(c.finishedAt),
		ExitCode:    c.code,
		Image:       &runtime.ImageSpec{Image: c.image.ref},
		ImageRef:    c.image.repoDigest(),
		Reason:      c.reason,
		Message:     c.message,
		Labels:      c.config.GetLabels(),
		Annotations: c.config.GetAnnotations(),
		Mounts:      c.config.GetMounts(),
		LogPath:     c.log.path,
		Resources:   &runtime.ContainerResources{Linux: c.limits},
	}
	if !s.config.Legacy {
		status.ImageId = c.image.id
		status.StopSignal = cmp.Or(c.config.GetStopSignal(), runtime.Signal_SIGNAL_SIGTERM)
		status.User = startedAs(c.config.GetLinux().GetSecurityContext())
	}
	return status
}

// startedAs returns the user of a container, without the groups of its image.
func startedAs(security *runtime.LinuxContainerSecurityContext) *runtime.ContainerUser {
	return &runtime.ContainerUser{Linux: &runtime.LinuxContainerUser{
		Uid: security.GetRunAsUser().GetValue(), Gid: security.GetRunAsGroup().GetValue(),
		SupplementalGroups: security.GetSupplementalGroups(),
	}}
}

// ListContainers lists the containers that match every part of the filter.
func (s *Server) ListContainers(
	_ context.Context, request *runtime.ListContainersRequest,
) (*runtime.ListContainersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &runtime.ListContainersResponse{}
	for _, c := range s.containers.all() {
		if c.matches(request.GetFilter()) {
			response.Containers = append(response.Containers, s.containerItem(c))
		}
	}
	return response, nil
}

func (c *container) matches(f *runtime.ContainerFilter) bool {
	return (f.GetId() == "" || f.GetId() == c.id) &&
		(f.GetPodSandboxId() == "" || f.GetPodSandboxId() == c.sandbox.id) &&
		(f.GetState() == nil || f.GetState().GetState() == c.state) &&
		selects(f.GetLabelSelector(), c.config.GetLabels())
}

func (s *Server) containerItem(c *container) *runtime.Container {
	item := &runtime.Container{
		Id:           c.id,
		PodSandboxId: c.sandbox.id,
		Metadata:     c.config.GetMetadata(),
		Image:        c.config.GetImage(),
		ImageRef:     c.image.id,
		State:        c.state,
		CreatedAt:    nanos(c.createdAt),
		Labels:       c.config.GetLabels(),
		Annotations:  c.config.GetAnnotations(),
	}
	if s.config.Legacy { // this version of CRI has no field for the name that the user gave
		item.Image = &runtime.ImageSpec{Image: c.config.GetImage().GetImage()}
	} else {
		item.ImageId = c.image.id
	}
	return item
}

// UpdateContainerResources changes the limits of a container.
func (s *Server) UpdateContainerResources(
	_ context.Context, request *runtime.UpdateContainerResourcesRequest,
) (*runtime.UpdateContainerResourcesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.containers.get(request.GetContainerId())
	if !ok {
		return nil, containerMissing(request.GetContainerId())
	}
	if limits := request.GetLinux(); limits != nil {
		c.limits = mergeLimits(c.limits, limits)
	}
	return &runtime.UpdateContainerResourcesResponse{}, nil
}
