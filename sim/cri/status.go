package cri

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// readiness holds the conditions that the runtime reports of itself.
type readiness struct{ runtime, network bool }

// SetReady sets whether the runtime and its network are ready. Without a network only pods on the
// host's network start.
func (s *Server) SetReady(runtimeReady, networkReady bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = readiness{runtime: runtimeReady, network: networkReady}
}

// Version names the runtime that this one imitates.
func (s *Server) Version(context.Context, *runtime.VersionRequest) (*runtime.VersionResponse, error) {
	version := "2.4.2"
	if s.config.Legacy {
		version = "1.6.20"
	}
	return &runtime.VersionResponse{
		Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: version, RuntimeApiVersion: "v1",
	}, nil
}

// Status returns the readiness and the features of the runtime.
func (s *Server) Status(context.Context, *runtime.StatusRequest) (*runtime.StatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &runtime.StatusResponse{Status: &runtime.RuntimeStatus{Conditions: []*runtime.RuntimeCondition{
		condition(runtime.RuntimeReady, s.ready.runtime, "ContainerdNotReady", "containerd is not ready"),
		condition(runtime.NetworkReady, s.ready.network, "NetworkPluginNotReady",
			"Network plugin returns error: cni plugin not initialized"),
	}}}
	if !s.config.Legacy {
		usual := &runtime.RuntimeHandler{Features: &runtime.RuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: true, UserNamespaces: true,
		}}
		response.RuntimeHandlers = append([]*runtime.RuntimeHandler{usual}, s.config.Handlers...)
		response.Features = &runtime.RuntimeFeatures{SupplementalGroupsPolicy: true}
	}
	return response, nil
}

// condition returns a condition; only a false one has its reason and message.
func condition(kind string, holds bool, reason, message string) *runtime.RuntimeCondition {
	if holds {
		return &runtime.RuntimeCondition{Type: kind, Status: true}
	}
	return &runtime.RuntimeCondition{Type: kind, Reason: reason, Message: message}
}

// RuntimeConfig returns the cgroup driver of the runtime.
func (s *Server) RuntimeConfig(
	context.Context, *runtime.RuntimeConfigRequest,
) (*runtime.RuntimeConfigResponse, error) {
	if s.config.Legacy {
		return nil, status.Error(codes.Unimplemented, "unknown method RuntimeConfig for service runtime.v1.RuntimeService")
	}
	return &runtime.RuntimeConfigResponse{
		Linux: &runtime.LinuxRuntimeConfiguration{CgroupDriver: runtime.CgroupDriver_CGROUPFS},
	}, nil
}

// UpdateRuntimeConfig only notes the pod CIDR, as containerd does with a CNI configuration of its own.
func (s *Server) UpdateRuntimeConfig(
	_ context.Context, r *runtime.UpdateRuntimeConfigRequest,
) (*runtime.UpdateRuntimeConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podCIDR = r.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
	return &runtime.UpdateRuntimeConfigResponse{}, nil
}

// PodCIDR returns the pod CIDR of the last UpdateRuntimeConfig.
func (s *Server) PodCIDR() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podCIDR
}
