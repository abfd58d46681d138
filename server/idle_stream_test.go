package server

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// slowStream has a message for its reader every minute.
type slowStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s slowStream) Context() context.Context { return s.ctx }
func (s slowStream) Recv() (*int, error)      { time.Sleep(time.Minute); return new(int), nil }
func (s slowStream) Send(*int) error          { time.Sleep(time.Minute); return nil }

func TestASilentStreamEndsAndABusyOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, stop := endIdle[int, int](slowStream{ctx: t.Context()}, 90*time.Second)
		defer stop()
		for range 10 {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
			if err := stream.Send(new(int)); err != nil {
				t.Fatal(err)
			}
		}
		if err := context.Cause(stream.Context()); err != nil {
			t.Fatalf("after 20 minutes with a message in each: %v", err)
		}
		time.Sleep(89 * time.Second)
		if err := context.Cause(stream.Context()); err != nil {
			t.Fatalf("before the limit: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := context.Cause(stream.Context()); err == nil || !strings.Contains(err.Error(), "for 1m30s") {
			t.Errorf("after the limit: %v, want the limit", err)
		}
	})
}

func TestSilentCommandsAndForwardedPortsEnd(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Front.Idle = func() time.Duration { return 50 * time.Millisecond } })
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(ctx context.Context, _ string, _ []string, _ node.Streams) (int32, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	n.runtime.forward = func(ctx context.Context, _ string, _ int32, _ io.ReadWriter) error {
		<-ctx.Done()
		return ctx.Err()
	}
	client := nodev1.NewExecServiceClient(n.dial(t))
	for name, open := range map[string]func() error{
		"exec": func() error {
			stream, err := client.Exec(t.Context())
			if err != nil {
				return err
			}
			start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"sh"}, Stdin: true}
			if err := stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		},
		"port-forward": func() error {
			stream, err := client.PortForward(t.Context())
			if err != nil {
				return err
			}
			start := &nodev1.PortForwardStart{Namespace: "default", Name: "web", Port: 80}
			if err := stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Start{Start: start}}); err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		},
	} {
		if err := open(); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "streamingConnectionIdleTimeout") {
			t.Errorf("%s: got %v, want the setting that ended it", name, err)
		}
	}
}
