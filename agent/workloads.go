package agent

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"nodal/server/auth"
	"nodal/workload"
)

// noWorkloads says why the node runs no workloads that are posted to it; "" if it does.
func noWorkloads(f facts) string {
	if f.cluster == nil {
		return ""
	}
	return "the node belongs to a cluster, which runs workloads; post it there"
}

// runWorkloads returns what runs the workloads of a node without a cluster. It posts as an operator would, but under a name of
// its own: its pods come from templates that were held to the policy of those who posted them.
func runWorkloads(local grpc.ClientConnInterface, known <-chan struct{}, log *slog.Logger) func(context.Context) {
	runner := workload.New(workload.Config{API: local, Known: known, Clock: time.Now, Log: log})
	return func(ctx context.Context) {
		runner.Run(auth.NewContext(ctx, auth.Identity{Name: "workloads", Role: auth.RoleOperator, Via: auth.ViaWorkloads}))
	}
}
