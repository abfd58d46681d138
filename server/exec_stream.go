package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/runs"
)

type execServerStream = grpc.BidiStreamingServer[nodev1.ExecRequest, nodev1.ExecResponse]

// conversation is the part of a client's stream that follows its first message.
type conversation interface {
	Context() context.Context
	Recv() (*nodev1.ExecRequest, error)
	Send(*nodev1.ExecResponse) error
}

// Exec runs a command with the client's streams.
func (s *execService) Exec(stream execServerStream) error {
	stream, stop := endIdle(stream, s.idle())
	defer stop()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return fmt.Errorf("exec: the first message must name a container and a command: %w", node.ErrInvalid)
	}
	key := node.Key{Namespace: start.GetNamespace(), Name: start.GetName()}
	run, err := s.entrance.ForCommand(stream.Context(), key, start.GetContainer(), start.GetCommand())
	if err != nil {
		return err
	}
	var exit int32
	err = converse(stream, start, func(ctx context.Context, streams node.Streams) (err error) {
		if exit, err = s.containers.Exec(ctx, run.ID, start.GetCommand(), streams); err != nil {
			return runs.Failed(start.GetCommand(), key, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return stream.Send(&nodev1.ExecResponse{Output: &nodev1.ExecResponse_ExitCode{ExitCode: exit}})
}

// converse runs talk with the client's streams, until it returns or the client is gone.
func converse(stream conversation, start *nodev1.ExecStart, talk func(context.Context, node.Streams) error) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	streams, in := execStreams(start, &execOutput{stream: stream})
	go in.pump(ctx, stream, cancel)
	err := talk(ctx, streams)
	in.close()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func execStreams(start *nodev1.ExecStart, out *execOutput) (node.Streams, *execInput) {
	streams := node.Streams{TTY: start.GetTty(), Stdout: writerFunc(func(p []byte) error {
		return out.send(&nodev1.ExecResponse{Output: &nodev1.ExecResponse_Stdout{Stdout: p}})
	})}
	in := &execInput{}
	if start.GetTty() {
		in.sizes = make(chan node.TerminalSize, 1)
		streams.Resize = in.sizes
	} else {
		streams.Stderr = writerFunc(func(p []byte) error {
			return out.send(&nodev1.ExecResponse{Output: &nodev1.ExecResponse_Stderr{Stderr: p}})
		})
	}
	if start.GetStdin() {
		reader, writer := io.Pipe()
		streams.Stdin, in.stdin, in.closeRead = reader, writer, reader.Close
	}
	return streams, in
}

// execOutput makes both outputs take turns on the stream, which takes one message at a time.
type execOutput struct {
	mu     sync.Mutex
	stream conversation
}

func (o *execOutput) send(m *nodev1.ExecResponse) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream.Send(m)
}

type writerFunc func([]byte) error

func (f writerFunc) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// execInput passes the client's messages to standard input and to the terminal.
type execInput struct {
	stdin     *io.PipeWriter // nil if the client sends no input
	closeRead func() error
	sizes     chan node.TerminalSize
}

// pump reads the client's stream to its end. A client that half-closes has sent all its
// input, and the command goes on. A client that is gone ends the command.
func (in *execInput) pump(ctx context.Context, stream conversation, cancel context.CancelCauseFunc) {
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			in.endStdin()
			return
		case err != nil:
			cancel(err)
			return
		}
		if err := in.take(message); err != nil {
			cancel(err)
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (in *execInput) take(message *nodev1.ExecRequest) error {
	switch input := message.GetInput().(type) {
	case *nodev1.ExecRequest_Stdin:
		if in.stdin == nil {
			return fmt.Errorf("exec: standard input is not connected: %w", node.ErrInvalid)
		}
		// A command that has ended, or has closed its input, does not need the rest.
		_, _ = in.stdin.Write(input.Stdin)
	case *nodev1.ExecRequest_StdinClosed:
		in.endStdin()
	case *nodev1.ExecRequest_Resize:
		in.resize(node.TerminalSize{Width: characters(input.Resize.GetWidth()), Height: characters(input.Resize.GetHeight())})
	case *nodev1.ExecRequest_Start:
		return fmt.Errorf("exec: a command is running already: %w", node.ErrInvalid)
	}
	return nil
}

func characters(n uint32) uint16 { return uint16(min(n, math.MaxUint16)) }

// resize keeps the latest size only.
func (in *execInput) resize(size node.TerminalSize) {
	if in.sizes == nil {
		return
	}
	select {
	case <-in.sizes:
	default:
	}
	in.sizes <- size
}

func (in *execInput) endStdin() {
	if in.stdin != nil {
		in.stdin.Close()
	}
}

// close unblocks a write to a command that has ended.
func (in *execInput) close() {
	if in.closeRead != nil {
		in.closeRead()
	}
}
