package cri

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Known returns the runtime's last status. It is nil before the first, and once the runtime is
// gone: another may take its place.
func (r *Runtime) Known() *node.RuntimeStatus { return r.known.Load() }

// Status asks the runtime how it is.
func (r *Runtime) Status(ctx context.Context) (node.RuntimeStatus, error) {
	s, err := r.status(ctx)
	s.Events = r.hearing.now.Load()
	switch {
	case err == nil:
		r.known.Store(&s)
	case code(err) == codes.Unavailable:
		r.known.Store(nil)
	}
	return s, err
}

func (r *Runtime) status(ctx context.Context) (node.RuntimeStatus, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	version, err := r.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return node.RuntimeStatus{}, explain(err, "ask the runtime's version")
	}
	reply, err := r.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return node.RuntimeStatus{}, explain(err, "ask the runtime's status")
	}
	return statusOf(version, reply), nil
}

func statusOf(version *runtimeapi.VersionResponse, reply *runtimeapi.StatusResponse) node.RuntimeStatus {
	s := node.RuntimeStatus{Name: version.GetRuntimeName(), Version: version.GetRuntimeVersion()}
	var problems []string
	for _, c := range reply.GetStatus().GetConditions() {
		switch c.GetType() {
		case runtimeapi.RuntimeReady:
			s.Ready = c.GetStatus()
		case runtimeapi.NetworkReady:
			s.NetworkReady = c.GetStatus()
		default:
			continue
		}
		if !c.GetStatus() {
			problems = append(problems, strings.TrimSpace(c.GetReason()+" "+c.GetMessage()))
		}
	}
	s.Message = strings.Join(problems, "; ")
	s.Features.SupplementalGroupsPolicy = reply.GetFeatures().GetSupplementalGroupsPolicy()
	for _, handler := range reply.GetRuntimeHandlers() {
		s.Handlers = append(s.Handlers, node.RuntimeHandler{
			Name: handler.GetName(), UserNamespaces: handler.GetFeatures().GetUserNamespaces(),
			RecursiveReadOnlyMounts: handler.GetFeatures().GetRecursiveReadOnlyMounts(),
		})
		if handler.GetName() == "" { // the one that every pod gets
			s.Features.UserNamespaces = handler.GetFeatures().GetUserNamespaces()
			s.Features.RecursiveReadOnlyMounts = handler.GetFeatures().GetRecursiveReadOnlyMounts()
		}
	}
	return s
}

// CgroupDriver asks who makes cgroups, the runtime itself ("cgroupfs") or systemd for
// it; empty where the runtime does not say.
func (r *Runtime) CgroupDriver(ctx context.Context) (string, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
	switch {
	case unimplemented(err):
		return "", nil
	case err != nil:
		return "", explain(err, "ask the runtime's cgroup driver")
	}
	switch reply.GetLinux().GetCgroupDriver() {
	case runtimeapi.CgroupDriver_SYSTEMD:
		return "systemd", nil
	case runtimeapi.CgroupDriver_CGROUPFS:
		return "cgroupfs", nil
	}
	return "", nil
}
