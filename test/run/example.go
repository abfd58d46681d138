package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/rig"
)

const (
	manifest = "docs/examples/web.yaml"
	patience = time.Minute // how long the example may take to answer
)

// startExample posts the example pod and waits until it answers at its address.
func startExample(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", fmt.Errorf("read the example: %w", err)
	}
	applied, err := nodev1.NewManifestsServiceClient(conn).Apply(ctx, &nodev1.ApplyRequest{Manifest: string(text)})
	if err != nil {
		return "", fmt.Errorf("apply the example: %w", err)
	}
	example := applied.GetOutcomes()[0]
	pod, err := agent.AwaitReady(ctx, conn, example.GetNamespace(), example.GetName())
	if err != nil {
		return "", err
	}
	page := "http://" + pod.GetPodIps()[0] + ":8080/"
	return page, awaitAnswer(ctx, page)
}

// awaitAnswer waits until the program in the container answers.
func awaitAnswer(ctx context.Context, page string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", page, err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ask %s: %w", page, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// importImage imports the example's image into the node, as kubelet images import does.
func importImage(ctx context.Context, conn *grpc.ClientConn) error {
	call, err := nodev1.NewImagesServiceClient(conn).ImportImages(ctx)
	if err != nil {
		return fmt.Errorf("import the example's image: %w", err)
	}
	if err := rig.Save(chunks{call}, "busybox"); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("send the example's image: %w", err)
	}
	if err := call.CloseSend(); err != nil {
		return fmt.Errorf("send the example's image: %w", err)
	}
	for {
		_, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("import the example's image: %w", err)
		}
	}
}

// chunks sends what is written to it. If the node refuses the rest, a write fails with io.EOF, and
// the answer holds the reason.
type chunks struct {
	call nodev1.ImagesService_ImportImagesClient
}

func (c chunks) Write(data []byte) (int, error) {
	return len(data), c.call.Send(&nodev1.ImportImagesRequest{Chunk: data})
}
