package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
)

// idleStream ends a client's stream on which nothing was sent for a while, in either direction: the context ends with
// the reason as its cause.
type idleStream[In, Out any] struct {
	grpc.BidiStreamingServer[In, Out]
	ctx   context.Context
	limit time.Duration
	late  *time.Timer
}

// endIdle returns the stream with a limit on its silence, and a function that gives the limit up. Zero means no limit.
func endIdle[In, Out any](stream grpc.BidiStreamingServer[In, Out], limit time.Duration) (
	_ grpc.BidiStreamingServer[In, Out], stop func(),
) {
	if limit <= 0 {
		return stream, func() {}
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	late := time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("nothing was sent in either direction for %s; the node's streamingConnectionIdleTimeout "+
			"ends such a stream: %w", limit, context.DeadlineExceeded))
	})
	return &idleStream[In, Out]{stream, ctx, limit, late}, func() { late.Stop(); cancel(nil) }
}

func (s *idleStream[In, Out]) Context() context.Context { return s.ctx }

func (s *idleStream[In, Out]) Recv() (*In, error) {
	message, err := s.BidiStreamingServer.Recv()
	s.late.Reset(s.limit)
	return message, err
}

func (s *idleStream[In, Out]) Send(message *Out) error {
	err := s.BidiStreamingServer.Send(message)
	s.late.Reset(s.limit)
	return err
}
