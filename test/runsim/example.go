package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
)

// patience bounds how long the examples may take to start.
const patience = 30 * time.Second

//go:embed pods.yaml
var examples string

// applyExamples posts the example pods and waits until web, the one that the
// README goes on with, is ready. Others never get that far.
func applyExamples(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := nodev1.NewManifestsServiceClient(conn).Apply(ctx, &nodev1.ApplyRequest{Manifest: examples}); err != nil {
		return fmt.Errorf("apply the examples: %w", err)
	}
	watch, err := nodev1.NewPodsServiceClient(conn).WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: "default"})
	if err != nil {
		return fmt.Errorf("watch the examples: %w", err)
	}
	for {
		message, err := watch.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("wait for the examples: the node ended the watch")
		}
		if err != nil {
			return fmt.Errorf("wait for the examples: %w", err)
		}
		if pod := message.GetPod(); pod.GetName() == "web" && pod.GetReady() {
			return nil
		}
	}
}
