package cri

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PodSandboxStatus describes one sandbox.
func (s *Server) PodSandboxStatus(
	_ context.Context, request *runtime.PodSandboxStatusRequest,
) (*runtime.PodSandboxStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.sandboxes.get(request.GetPodSandboxId())
	if !ok {
		return nil, sandboxMissing(request.GetPodSandboxId())
	}
	return &runtime.PodSandboxStatusResponse{Status: b.status()}, nil
}

func (b *sandbox) status() *runtime.PodSandboxStatus {
	return &runtime.PodSandboxStatus{
		Id:        b.id,
		Metadata:  b.config.GetMetadata(),
		State:     b.state(),
		CreatedAt: nanos(b.createdAt),
		Network:   &runtime.PodSandboxNetworkStatus{Ip: b.ip},
		Linux: &runtime.LinuxPodSandboxStatus{Namespaces: &runtime.Namespace{
			Options: b.config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
		Labels:         b.config.GetLabels(),
		Annotations:    b.config.GetAnnotations(),
		RuntimeHandler: b.handler,
	}
}

// ListPodSandbox lists the sandboxes that match every part of the filter.
func (s *Server) ListPodSandbox(
	_ context.Context, request *runtime.ListPodSandboxRequest,
) (*runtime.ListPodSandboxResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	filter := request.GetFilter()
	response := &runtime.ListPodSandboxResponse{}
	for _, b := range s.sandboxes.all() {
		if b.matches(filter) {
			response.Items = append(response.Items, b.item())
		}
	}
	return response, nil
}

func (b *sandbox) matches(f *runtime.PodSandboxFilter) bool {
	return (f.GetId() == "" || f.GetId() == b.id) &&
		(f.GetState() == nil || f.GetState().GetState() == b.state()) &&
		selects(f.GetLabelSelector(), b.config.GetLabels())
}

func (b *sandbox) item() *runtime.PodSandbox {
	return &runtime.PodSandbox{
		Id:             b.id,
		Metadata:       b.config.GetMetadata(),
		State:          b.state(),
		CreatedAt:      nanos(b.createdAt),
		Labels:         b.config.GetLabels(),
		Annotations:    b.config.GetAnnotations(),
		RuntimeHandler: b.handler,
	}
}

// selects reports whether every label that the selector names has its value.
func selects(selector, have map[string]string) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(have))
}
