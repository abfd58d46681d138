package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/runs"
)

type attachServerStream = grpc.BidiStreamingServer[nodev1.AttachRequest, nodev1.AttachResponse]

// Attach connects the client's streams to the container's main process. Whether that has a
// terminal was settled when it began.
func (s *execService) Attach(stream attachServerStream) error {
	stream, stop := endIdle(stream, s.idle())
	defer stop()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return fmt.Errorf("attach: the first message must name a container: %w", node.ErrInvalid)
	}
	key := node.Key{Namespace: start.GetNamespace(), Name: start.GetName()}
	run, err := s.entrance.Running(stream.Context(), key, start.GetContainer())
	if err != nil {
		return err
	}
	view, err := runs.Pod(s.entrance.Pods, key)
	if err != nil {
		return err
	}
	wanted := &nodev1.ExecStart{Stdin: start.GetStdin(), Tty: runs.HasTerminal(view, start.GetContainer())}
	return converse(attachment{stream}, wanted, func(ctx context.Context, streams node.Streams) error {
		return s.containers.Attach(ctx, run.ID, streams)
	})
}

// attachment presents the stream of a client that attaches as that of one that runs a
// command. Both carry the same input and output.
type attachment struct{ attachServerStream }

var _ conversation = attachment{}

func (a attachment) Recv() (*nodev1.ExecRequest, error) {
	message, err := a.attachServerStream.Recv()
	if err != nil {
		return nil, err
	}
	switch input := message.GetInput().(type) {
	case *nodev1.AttachRequest_Stdin:
		return &nodev1.ExecRequest{Input: &nodev1.ExecRequest_Stdin{Stdin: input.Stdin}}, nil
	case *nodev1.AttachRequest_StdinClosed:
		return &nodev1.ExecRequest{Input: &nodev1.ExecRequest_StdinClosed{StdinClosed: input.StdinClosed}}, nil
	case *nodev1.AttachRequest_Resize:
		return &nodev1.ExecRequest{Input: &nodev1.ExecRequest_Resize{Resize: input.Resize}}, nil
	case *nodev1.AttachRequest_Start:
		return nil, fmt.Errorf("attach: already attached: %w", node.ErrInvalid)
	}
	return &nodev1.ExecRequest{}, nil
}

func (a attachment) Send(message *nodev1.ExecResponse) error {
	switch output := message.GetOutput().(type) {
	case *nodev1.ExecResponse_Stdout:
		return a.attachServerStream.Send(&nodev1.AttachResponse{Output: &nodev1.AttachResponse_Stdout{Stdout: output.Stdout}})
	case *nodev1.ExecResponse_Stderr:
		return a.attachServerStream.Send(&nodev1.AttachResponse{Output: &nodev1.AttachResponse_Stderr{Stderr: output.Stderr}})
	}
	return nil
}
