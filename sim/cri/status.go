package cri

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// readiness holds what the runtime reports of itself.
type readiness struct{ runtime, network bool }

// SetReady says how ready the runtime and its network are. Without a network
// only pods on the host's network start.
func (s *Server) SetReady(runtimeReady, networkReady bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = readiness{runtime: runtimeReady, network: networkReady}
}

// Version names the runtime whose behaviour this is.
func (s *Server) Version(context.Context, *runtime.VersionRequest) (*runtime.VersionResponse, error) {
	version := "2.4.2"
	if s.config.Legacy {
		version = "1.6.20"
	}
	return &runtime.VersionResponse{
		Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: version, RuntimeApiVersion: "v1",
	}, nil
}

// Status is the readiness and what the runtime can do.
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

// condition carries a reason and a message only while it does not hold.
func condition(kind string, holds bool, reason, message string) *runtime.RuntimeCondition {
	if holds {
		return &runtime.RuntimeCondition{Type: kind, Status: true}
	}
	return &runtime.RuntimeCondition{Type: kind, Reason: reason, Message: message}
}

// RuntimeConfig says which cgroup driver the runtime uses.
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

// UpdateRuntimeConfig takes the pod CIDR, which the simulated network ignores
// as a containerd with a CNI configuration of its own does.
func (s *Server) UpdateRuntimeConfig(
	context.Context, *runtime.UpdateRuntimeConfigRequest,
) (*runtime.UpdateRuntimeConfigResponse, error) {
	return &runtime.UpdateRuntimeConfigResponse{}, nil
}
