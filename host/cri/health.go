package cri

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Health reads the status and the features of the container runtime.
type Health struct {
	conn    *Conn
	known   atomic.Pointer[node.RuntimeStatus]
	hearing hearing
}

// NewHealth makes the Health of a runtime.
func NewHealth(conn *Conn) *Health { return &Health{conn: conn} }

// Known returns the runtime's last status. It is nil before the first status, and once the runtime is gone: another
// runtime may take its place.
func (h *Health) Known() *node.RuntimeStatus { return h.known.Load() }

// Status asks for the runtime's status.
func (h *Health) Status(ctx context.Context) (node.RuntimeStatus, error) {
	s, err := h.status(ctx)
	s.Events = h.hearing.now.Load()
	switch {
	case err == nil:
		h.known.Store(&s)
	case code(err) == codes.Unavailable:
		h.known.Store(nil)
	}
	return s, err
}

func (h *Health) status(ctx context.Context) (node.RuntimeStatus, error) {
	ctx, cancel := h.conn.request(ctx)
	defer cancel()
	version, err := h.conn.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return node.RuntimeStatus{}, explain(err, "ask the runtime's version")
	}
	reply, err := h.conn.runtime.Status(ctx, &runtimeapi.StatusRequest{})
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
		if handler.GetName() == "" { // the default handler
			s.Features.UserNamespaces = handler.GetFeatures().GetUserNamespaces()
			s.Features.RecursiveReadOnlyMounts = handler.GetFeatures().GetRecursiveReadOnlyMounts()
		}
	}
	return s
}

// Changed returns a channel that is closed when the runtime's events begin to arrive, or cease to.
func (h *Health) Changed() <-chan struct{} { return h.hearing.changed.Heard() }

// hearing notes whether the runtime's events arrive.
type hearing struct {
	now     atomic.Bool
	changed node.Bell
}

// set rings the bell unless events go on arriving. It rings for a runtime that stays out of reach too: the cause may
// have changed.
func (h *hearing) set(now bool) {
	if was := h.now.Swap(now); !was || !now {
		h.changed.Ring()
	}
}

// CgroupDriver returns "systemd" if the runtime has systemd make its cgroups, and "cgroupfs" if it makes them itself.
// It is empty if the runtime does not report it.
func (h *Health) CgroupDriver(ctx context.Context) (string, error) {
	ctx, cancel := h.conn.request(ctx)
	defer cancel()
	reply, err := h.conn.runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
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
