package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// diary notes the traced requests, as "name traceparent: how it ended".
type diary struct {
	mu    sync.Mutex
	lines []string
}

type inRequest struct{}

func (d *diary) follow(ctx context.Context, name, traceparent string, _ ...slog.Attr) (context.Context, func(any, error)) {
	return context.WithValue(ctx, inRequest{}, name), func(_ any, err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lines = append(d.lines, fmt.Sprintf("%s %s: %v", name, traceparent, err))
	}
}

func (d *diary) holds(line string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, line)
}

func TestRequestsAreTracedStreamsIncluded(t *testing.T) {
	var d diary
	n := newNode(t, func(c *Config) { c.Front.Trace = d.follow })
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(ctx context.Context, _ string, command []string, s node.Streams) (int32, error) {
		if ctx.Value(inRequest{}) == nil {
			t.Errorf("%q does not run as a part of what is followed", command)
		}
		return 0, errors.New("no such file")
	}
	n.runtime.execSync = func(context.Context, string, []string, time.Duration) ([]byte, []byte, int32, error) {
		return nil, nil, 0, nil
	}
	n.do(t, "GET", logsPath, "", "Traceparent", "rest")
	n.do(t, "GET", kubeletLogs, "", "Traceparent", "kubelet")
	n.do(t, "POST", "/run/default/web/main?cmd=ls", "", "Traceparent", "run")
	client := nodev1.NewExecServiceClient(n.dial(t))
	call, err := client.Exec(metadata.AppendToOutgoingContext(t.Context(), "traceparent", "grpc"))
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"sh"}}
	if err := call.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Recv(); err == nil {
		t.Error("a command that does not run has no error")
	}
	n.execByKubectl(t)
	for _, want := range []string{
		"node.v1.ManifestsService/Apply : <nil>",
		"node.v1.LogsService/ReadLogs rest: <nil>",
		"GET /containerLogs/{namespace}/{pod}/{container} kubelet: <nil>",
		"POST /run/{namespace}/{pod}/{container} run: <nil>",
		`node.v1.ExecService/Exec grpc: run "sh" in pod default/web: no such file`,
		"GET /exec/{namespace}/{pod}/{container} : no such file",
	} {
		if !d.holds(want) {
			t.Errorf("%q was not traced; traced were %q", want, d.lines)
		}
	}
}

// execByKubectl runs a command that fails, on the kubelet's path.
func (n *node1) execByKubectl(t *testing.T) {
	t.Helper()
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	client, err := remotecommand.NewWebSocketExecutor(&clientrest.Config{Host: front.URL}, "GET", front.URL+"/exec/default/web/main?command=sh&output=1")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err == nil {
		t.Error("a command that does not run has no error")
	}
}

func TestWatchesAreNotTraced(t *testing.T) {
	var d diary
	n := newNode(t, func(c *Config) { c.Front.Trace = d.follow })
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := nodev1.NewPodsServiceClient(n.dial(t)).WatchPods(ctx, &nodev1.WatchPodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = watch.Recv()
	}
	n.server.GRPC().GracefulStop() // the handler has returned
	if len(d.lines) > 0 {
		t.Errorf("traced were %q", d.lines)
	}
}
