package agent

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	nodev1 "nodal/api/gen/node/v1"
)

// Dial connects to the agent's socket. The caller closes the connection.
func (a *Agent) Dial(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("unix://"+a.Socket, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the agent: %w", err)
	}
	return conn, nil
}

// Stay waits for the end of the context and returns nil. It fails if the agent ends first.
func (a *Agent) Stay(ctx context.Context) error {
	code, err := a.Wait(ctx)
	if err != nil {
		return nil // the context ended both waits
	}
	return fmt.Errorf("the agent ended by itself with code %d:\n%s", code, a.LogTail())
}

// AwaitReady waits until a pod is ready and has an address.
func AwaitReady(ctx context.Context, conn grpc.ClientConnInterface, namespace, name string) (*nodev1.Pod, error) {
	watch, err := nodev1.NewPodsServiceClient(conn).WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("watch pod %s: %w", name, err)
	}
	var last *nodev1.Pod
	for {
		message, err := watch.Recv()
		if errors.Is(err, io.EOF) {
			err = errors.New("the node ended the watch")
		}
		if err != nil {
			return nil, fmt.Errorf("wait for pod %s, which is %s %s: %w", name, last.GetReason(), last.GetMessage(), err)
		}
		if pod := message.GetPod(); pod.GetName() == name {
			last = pod
		}
		if last.GetReady() && len(last.GetPodIps()) > 0 {
			return last, nil
		}
	}
}
