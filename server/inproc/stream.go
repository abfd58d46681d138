package inproc

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// call holds the state that the two ends of a stream share.
type call struct {
	*transport
	to   *queue        // to the handler; closed by CloseSend
	from *queue        // from the handler; closed when it has returned
	done chan struct{} // closed, after err is set, when the handler has returned
	err  error
}

// NewStream starts a handler in a goroutine of its own. As with any gRPC connection the
// caller has to read until an error or cancel ctx, or the handler may wait forever.
func (c *Conn) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, name string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	options, err := readOptions(opts)
	if err != nil {
		return nil, err
	}
	m, ok := c.methods[name]
	if !ok || m.stream == nil {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	shared := &call{
		transport: newTransport(name),
		to:        newQueue(),
		from:      newQueue(),
		done:      make(chan struct{}),
	}
	serverCtx, cancel := context.WithCancel(serverContext(ctx, shared.transport))
	go func() {
		defer cancel()
		err := callStream(&serverStream{call: shared, ctx: serverCtx}, m, c.stream)
		if ctx.Err() != nil { // the client has hung up and does not read the handler's error
			err = status.FromContextError(ctx.Err()).Err()
		}
		shared.end(err)
	}()
	return &clientStream{call: shared, ctx: ctx, desc: desc, options: options}, nil
}

func callStream(ss *serverStream, m method, chain grpc.StreamServerInterceptor) (err error) {
	defer recovered(ss.ctx, ss.method, &err)
	info := &grpc.StreamServerInfo{
		FullMethod:     ss.method,
		IsClientStream: m.stream.ClientStreams,
		IsServerStream: m.stream.ServerStreams,
	}
	return statusError(chain(m.impl, ss, info, m.stream.Handler))
}

func (c *call) end(err error) {
	c.err = err
	close(c.done)
	c.from.close()
	c.flush()
}

type serverStream struct {
	*call
	ctx context.Context
}

var _ grpc.ServerStream = (*serverStream)(nil)

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SetTrailer(md metadata.MD) { _ = s.call.SetTrailer(md) }

func (s *serverStream) SendMsg(m any) error {
	message, err := asMessage(m)
	if err != nil {
		return status.Errorf(codes.Internal, "send on %s: %v", s.method, err)
	}
	s.flush()
	if !s.from.put(message, s.ctx.Done(), nil) {
		return status.FromContextError(s.ctx.Err()).Err()
	}
	return nil
}

func (s *serverStream) RecvMsg(m any) error {
	select {
	case message, ok := <-s.to.messages:
		if !ok {
			return io.EOF
		}
		s.to.release(message)
		return moveMessage(m, message.Message)
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

type clientStream struct {
	*call
	ctx     context.Context
	desc    *grpc.StreamDesc
	options options

	sendClosed bool // one goroutine sends at a time, as in grpc-go
	finish     sync.Once
}

var _ grpc.ClientStream = (*clientStream)(nil)

func (s *clientStream) Context() context.Context { return s.ctx }

func (s *clientStream) Header() (metadata.MD, error) {
	select {
	case <-s.ready:
		header, _ := s.metadata()
		return header, nil
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

func (s *clientStream) Trailer() metadata.MD {
	_, trailer := s.metadata()
	return trailer
}

func (s *clientStream) CloseSend() error {
	if !s.sendClosed {
		s.sendClosed = true
		s.to.close()
	}
	return nil
}

// SendMsg returns io.EOF once the handler has returned. RecvMsg then returns its error. A client that sends one message
// only gets nil, as from grpc-go: generated code would take io.EOF for the outcome of the call.
func (s *clientStream) SendMsg(m any) error {
	err := s.send(m)
	if err == io.EOF && !s.desc.ClientStreams {
		return s.CloseSend()
	}
	return err
}

func (s *clientStream) send(m any) error {
	if s.sendClosed {
		return status.Errorf(codes.Internal, "send on %s: after CloseSend", s.method)
	}
	message, err := asMessage(m)
	if err != nil {
		return status.Errorf(codes.Internal, "send on %s: %v", s.method, err)
	}
	select {
	case <-s.done:
		return io.EOF
	default:
	}
	if !s.to.put(message, s.done, s.ctx.Done()) {
		return io.EOF
	}
	if !s.desc.ClientStreams {
		return s.CloseSend()
	}
	return nil
}

func (s *clientStream) RecvMsg(m any) (err error) {
	defer func() {
		if err != nil || !s.desc.ServerStreams {
			s.ended(err)
		}
	}()
	message, err := s.next()
	if err != nil {
		if err == io.EOF && !s.desc.ServerStreams {
			return status.Errorf(codes.Internal, "%s returned no answer", s.method)
		}
		return err
	}
	if err := moveMessage(m, message); err != nil {
		return status.Errorf(codes.Internal, "receive on %s: %v", s.method, err)
	}
	if s.desc.ServerStreams {
		return nil
	}
	// The answer counts only if the handler then succeeds.
	if _, err := s.next(); err != io.EOF {
		return err
	}
	return nil
}

// next returns io.EOF when the handler has succeeded and all its messages are read.
func (s *clientStream) next() (proto.Message, error) {
	select {
	case message, ok := <-s.from.messages:
		if ok {
			s.from.release(message)
			return message.Message, nil
		}
		if s.err != nil {
			return nil, s.err
		}
		return nil, io.EOF
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

// ended fills in the call's options, once.
func (s *clientStream) ended(err error) {
	if err == io.EOF {
		err = nil
	}
	s.finish.Do(func() { s.options.finish(s.transport, err) })
}
