package cri

import (
	"context"
	"errors"
	"slices"

	"nodal/host/cri/spec"
	"nodal/node"
)

var (
	errGroupsPolicy = errors.New(
		"SupplementalGroupsPolicy=Strict is not supported in this node: the runtime does not announce it")
	errUserNamespaces = errors.New(
		"user namespaces (hostUsers: false) are not supported on this node: the runtime does not announce them")
)

// checkFeatures refuses a pod that needs a feature which the runtime does not announce. The call that makes the sandbox
// would succeed without the feature.
func (s sandboxes) checkFeatures(ctx context.Context, pod *node.Pod) error {
	strict := spec.StrictGroups(pod.Object)
	if !strict && pod.Users == nil {
		return nil
	}
	status, err := s.health.Status(ctx)
	if err != nil {
		return judge(err, node.FailedCreateSandbox, "ask what the runtime can do")
	}
	switch {
	case strict && !status.Features.SupplementalGroupsPolicy:
		return failure(node.FailedCreateSandbox, errGroupsPolicy)
	case pod.Users != nil && !mapsUsers(status, pod.Handler):
		return failure(node.FailedCreateSandbox, errUserNamespaces)
	}
	return nil
}

// mapsUsers reports whether a handler of the runtime has user namespaces.
func mapsUsers(status node.RuntimeStatus, handler string) bool {
	return slices.ContainsFunc(status.Handlers, func(h node.RuntimeHandler) bool {
		return h.Name == handler && h.UserNamespaces
	})
}
