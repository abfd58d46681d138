package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

func TestAClientAttaches(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.attach = func(_ context.Context, id string, s node.Streams) error {
		said, err := io.ReadAll(s.Stdin)
		fmt.Fprintf(s.Stdout, "%s heard %s", id, said)
		return err
	}
	stream, err := nodev1.NewExecServiceClient(n.dial(t)).Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.AttachStart{Namespace: "default", Name: "web", Container: "main", Stdin: true}
	for _, m := range []*nodev1.AttachRequest{
		{Input: &nodev1.AttachRequest_Start{Start: start}}, {Input: &nodev1.AttachRequest_Stdin{Stdin: []byte("hello")}},
		{Input: &nodev1.AttachRequest_StdinClosed{StdinClosed: true}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	m, err := stream.Recv()
	if got := string(m.GetStdout()); err != nil || got != "web-main-0 heard hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("it ends with %v, want the end of the stream", err)
	}
}

func TestAPortIsForwarded(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("waiting"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.forward = func(_ context.Context, sandbox string, port int32, client io.ReadWriter) error {
		said, err := io.ReadAll(client)
		fmt.Fprintf(client, "port %d heard %s", port, said)
		return err
	}
	forward := func(name string, port int32) (string, error) {
		stream, err := nodev1.NewExecServiceClient(n.dial(t)).PortForward(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := &nodev1.PortForwardStart{Namespace: "default", Name: name, Port: port}
		_ = stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Start{Start: start}}) // its end is read below
		_ = stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Data{Data: []byte("hello")}})
		_ = stream.CloseSend()
		m, err := stream.Recv()
		return string(m.GetData()), err
	}
	if got, err := forward("web", 80); err != nil || got != "port 80 heard hello" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, want := range map[string]codes.Code{"none": codes.NotFound, "waiting": codes.FailedPrecondition} {
		if got, err := forward(name, 80); status.Code(err) != want {
			t.Errorf("to pod %s: got %q, %v, want %s", name, got, err, want)
		}
	}
	if _, err := forward("web", 0); status.Code(err) != codes.InvalidArgument {
		t.Errorf("to port 0: got %v, want InvalidArgument", err)
	}
}
