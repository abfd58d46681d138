package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
)

const (
	manifest = "docs/examples/web.yaml"
	patience = time.Minute // for the example to answer
	farewell = 10 * time.Second
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
	pod, err := awaitReady(ctx, nodev1.NewPodsServiceClient(conn), applied.GetOutcomes()[0])
	if err != nil {
		return "", err
	}
	page := "http://" + pod.GetPodIps()[0] + ":8080/"
	return page, awaitAnswer(ctx, page)
}

func awaitReady(ctx context.Context, pods nodev1.PodsServiceClient, example *nodev1.Outcome) (*nodev1.Pod, error) {
	watch, err := pods.WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: example.GetNamespace()})
	if err != nil {
		return nil, fmt.Errorf("watch the example: %w", err)
	}
	var last *nodev1.Pod
	for {
		message, err := watch.Recv()
		if err != nil {
			return nil, fmt.Errorf("wait for the example, which is %s %s: %w", last.GetReason(), last.GetMessage(), err)
		}
		if pod := message.GetPod(); pod.GetName() == example.GetName() {
			last = pod
		}
		if last.GetReady() && len(last.GetPodIps()) > 0 {
			return last, nil
		}
	}
}

// awaitAnswer waits until the program in the container listens.
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

// removePods deletes every pod, those that a visitor added too, and waits until
// they are gone. The node is going away, so it gives them a second to end.
func removePods(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	client := nodev1.NewPodsServiceClient(conn)
	list, err := client.ListPods(ctx, &nodev1.ListPodsRequest{})
	if err != nil {
		return fmt.Errorf("list the pods to delete: %w", err)
	}
	left := map[string]bool{}
	for _, pod := range list.GetPods() {
		request := &nodev1.DeletePodRequest{Namespace: pod.GetNamespace(), Name: pod.GetName(), GracePeriodSeconds: new(int64(1))}
		if _, err := client.DeletePod(ctx, request); err != nil {
			return fmt.Errorf("delete pod %s: %w", pod.GetName(), err)
		}
		left[pod.GetUid()] = true
	}
	watch, err := client.WatchPods(ctx, &nodev1.WatchPodsRequest{SinceRevision: list.GetRevision()})
	if err != nil {
		return fmt.Errorf("watch the pods end: %w", err)
	}
	for len(left) > 0 {
		message, err := watch.Recv()
		if err != nil {
			return fmt.Errorf("wait until the pods are gone: %w", err)
		}
		if message.GetType() == nodev1.WatchType_WATCH_TYPE_DELETED {
			delete(left, message.GetPod().GetUid())
		}
	}
	return nil
}
