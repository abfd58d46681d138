// Package follow watches a node's pods for a client that keeps a copy of them elsewhere, such as in a cluster.
//
// Start reading at Pods.
package follow

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
)

// Listener receives the node's pods.
type Listener struct {
	// Show gets each state of a pod as the node shows it.
	Show func(types.NamespacedName, *nodev1.WatchPodsResponse) error
	// Keep gets the pods that are present, at the start and after each lost connection: others may be gone by then.
	Keep func(present map[types.NamespacedName]bool)
}

// Pods watches the node's pods until the context ends. It watches again after a lost connection.
func Pods(ctx context.Context, node nodev1.PodsServiceClient, log *slog.Logger, to Listener) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := watch(ctx, node, to); ctx.Err() == nil {
			log.Warn("watching the node's pods again", "err", err)
		}
	}, time.Second)
}

// watch reads the node's pods from the beginning until the stream ends.
func watch(ctx context.Context, node nodev1.PodsServiceClient, to Listener) error {
	stream, err := node.WatchPods(ctx, &nodev1.WatchPodsRequest{})
	if err != nil {
		return err
	}
	present := map[types.NamespacedName]bool{}
	for initial := true; ; {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.Type == nodev1.WatchType_WATCH_TYPE_SYNCED {
			to.Keep(present)
			initial = false
			continue
		}
		name := types.NamespacedName{Namespace: m.Pod.GetNamespace(), Name: m.Pod.GetName()}
		if err := to.Show(name, m); err != nil {
			return err
		}
		if initial {
			present[name] = true
		}
	}
}
