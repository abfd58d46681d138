package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/policy"
	"nodal/server/auth"
	"nodal/server/runs"
)

// poster returns the caller of a request as the policy knows it. A caller without a role of this
// node acts by the word of the cluster, whose own admission has judged the pod.
func poster(ctx context.Context) policy.Poster {
	switch id, _ := auth.From(ctx); {
	case id.Via == auth.ViaWorkloads:
		return policy.Workload
	case id.Role == auth.RoleOperator:
		return policy.Operator
	case id.Role == auth.RoleNone || id.Via == auth.ViaProcess:
		return policy.Cluster
	}
	return policy.Admin
}

// entrance lets callers into the pods that they could have posted.
func entrance(s State) runs.Entrance {
	return runs.Entrance{Pods: s.Store, May: func(ctx context.Context, pod *corev1.Pod) error {
		return s.Intake.Policy.Enter(pod, poster(ctx))
	}}
}
