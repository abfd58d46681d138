package cri

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// checkIsolation refuses what a runtime may ignore in silence: a pod that asks
// for a wall must not run without it.
func checkIsolation(pod *corev1.Pod) error {
	if users := pod.Spec.HostUsers; users != nil && !*users {
		return fmt.Errorf("a user namespace (hostUsers: false): %w", node.ErrUnsupported)
	}
	return nil
}

var errGroupsPolicy = errors.New("SupplementalGroupsPolicy=Strict is not supported in this node: the runtime does not announce it")

// checkFeatures asks the runtime whether it can do what only some can, for a
// pod that needs it. The call that makes the pod would succeed without.
func (r *Runtime) checkFeatures(ctx context.Context, pod *corev1.Pod) error {
	policy := podContext(pod).SupplementalGroupsPolicy
	if policy == nil || *policy != corev1.SupplementalGroupsPolicyStrict {
		return nil
	}
	status, err := r.Status(ctx)
	if err != nil {
		return judge(err, reasonRunSandbox, "ask what the runtime can do")
	}
	if !status.Features.SupplementalGroupsPolicy {
		return failure(reasonRunSandbox, errGroupsPolicy)
	}
	return nil
}
