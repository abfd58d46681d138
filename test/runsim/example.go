package main

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
)

// patience bounds how long the examples may take to start.
const patience = 30 * time.Second

//go:embed pods.yaml
var examples string

// applyExamples posts the example pods and waits until web is ready, which the README's commands
// use. Some of the others never become ready.
func applyExamples(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := nodev1.NewManifestsServiceClient(conn).Apply(ctx, &nodev1.ApplyRequest{Manifest: examples}); err != nil {
		return fmt.Errorf("apply the examples: %w", err)
	}
	_, err := agent.AwaitReady(ctx, conn, "default", "web")
	return err
}
