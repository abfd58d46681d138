package server

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/runs"
)

type forwardServerStream = grpc.BidiStreamingServer[nodev1.PortForwardRequest, nodev1.PortForwardResponse]

// PortForward connects the client with a port of a pod.
func (s *execService) PortForward(stream forwardServerStream) error {
	stream, stop := endIdle(stream, s.idle())
	defer stop()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if port := start.GetPort(); port < 1 || port > 65535 {
		return fmt.Errorf("forward port %d: the first message must name a port between 1 and 65535: %w",
			port, node.ErrInvalid)
	}
	view, err := runs.Pod(s.entrance.Pods, node.Key{Namespace: start.GetNamespace(), Name: start.GetName()})
	if err != nil {
		return err
	}
	sandbox, err := runs.Sandbox(view)
	if err != nil {
		return err
	}
	err = s.containers.PortForward(stream.Context(), sandbox.ID, start.GetPort(), &forwarded{stream: stream})
	if cause := context.Cause(stream.Context()); cause != nil {
		return cause
	}
	return err
}

// forwarded reads and writes the client's stream as one connection.
type forwarded struct {
	stream forwardServerStream
	rest   []byte // of the last message
}

var _ io.ReadWriter = (*forwarded)(nil)

func (f *forwarded) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		message, err := f.stream.Recv()
		if err != nil {
			return 0, err
		}
		f.rest = message.GetData()
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *forwarded) Write(p []byte) (int, error) {
	if err := f.stream.Send(&nodev1.PortForwardResponse{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}
