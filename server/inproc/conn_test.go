package inproc

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// hooked calls a function of the test in place of a handler.
type hooked struct {
	testpb.UnimplementedTestServiceServer
	unary  func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	duplex func(testpb.TestService_FullDuplexCallServer) error
}

func (h hooked) UnaryCall(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return h.unary(ctx, in)
}

func (h hooked) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error { return h.duplex(s) }

func hook(h hooked) testpb.TestServiceClient {
	c := New(nil, nil)
	testpb.RegisterTestServiceServer(c, h)
	return testpb.NewTestServiceClient(c)
}

func TestAPanicBecomesAnInternalError(t *testing.T) {
	client := hook(hooked{
		unary:  func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) { panic("unary") },
		duplex: func(testpb.TestService_FullDuplexCallServer) error { panic("stream") },
	})
	if _, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("unary: got %v, want an internal error", err)
	}
	s, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("stream: got %v, want an internal error", err)
	}
}

// The handler of a stream has a goroutine of its own, and may have refused the call before the client sends.
func TestARefusedStreamSaysWhyHoweverLateTheClientSends(t *testing.T) {
	refuse := func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		return status.Error(codes.PermissionDenied, "not for you")
	}
	c := New(nil, []grpc.StreamServerInterceptor{refuse})
	testpb.RegisterTestServiceServer(c, hooked{})
	desc := &grpc.StreamDesc{ServerStreams: true}
	stream, err := c.NewStream(t.Context(), desc, testpb.TestService_StreamingOutputCall_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	<-stream.(*clientStream).done
	if err := stream.SendMsg(&testpb.StreamingOutputCallRequest{}); err != nil {
		t.Errorf("send: %v, want nil: the answer holds the reason", err)
	}
	if err := stream.RecvMsg(&testpb.StreamingOutputCallResponse{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("receive: %v, want PermissionDenied", err)
	}
}

func TestContextsEndTogether(t *testing.T) {
	t.Run("the client's cancel reaches the handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
				<-s.Context().Done()
				ended <- s.Context().Err()
				return s.Context().Err()
			}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			s, err := client.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("client: got %v, want the deadline", err)
			}
			if got := <-ended; got != context.DeadlineExceeded {
				t.Errorf("handler: got %v, want the deadline", got)
			}
		})
	})
	t.Run("a client that has hung up hears that, and not what the handler says of it", func(t *testing.T) {
		for range 20 { // either answer is possible
			synctest.Test(t, func(t *testing.T) {
				client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
					<-s.Context().Done()
					return status.Error(codes.Aborted, "the handler's word")
				}})
				ctx, cancel := context.WithCancel(t.Context())
				s, err := client.FullDuplexCall(ctx)
				if err != nil {
					t.Fatal(err)
				}
				cancel()
				synctest.Wait()
				if _, err := s.Recv(); status.Code(err) != codes.Canceled {
					t.Errorf("got %v, want that it was cancelled", err)
				}
			})
		}
	})
	t.Run("the handler's return ends its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var handler context.Context
			client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
				handler = s.Context()
				return nil
			}})
			s, err := client.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); err != io.EOF {
				t.Fatalf("got %v, want the end", err)
			}
			synctest.Wait()
			if handler.Err() == nil {
				t.Error("the handler's context is still alive")
			}
		})
	})
}

func TestASlowReceiverHoldsTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		client := hook(hooked{duplex: func(s testpb.TestService_FullDuplexCallServer) error {
			for range 10 * depth {
				if err := s.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
					return err
				}
				sent++
			}
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := client.FullDuplexCall(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if sent != depth {
			t.Errorf("sent %d messages that nobody read, want %d", sent, depth)
		}
	})
}

func TestMessagesAreNotShared(t *testing.T) {
	kept := &testpb.SimpleResponse{Payload: payload("kept")}
	var seen *testpb.SimpleRequest
	client := hook(hooked{unary: func(_ context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		seen = in
		return kept, nil
	}})
	in := &testpb.SimpleRequest{Payload: payload("request")}
	out, err := client.UnaryCall(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Payload.Body[0], out.Payload.Body[0] = '!', '!'
	if got := string(seen.Payload.Body); got != "request" {
		t.Errorf("the handler's request changed to %q", got)
	}
	if got := string(kept.Payload.Body); got != "kept" {
		t.Errorf("the handler's answer changed to %q", got)
	}
}

type key struct{}

func TestTheHandlerSeesValuesOfTheClientsContext(t *testing.T) {
	var got any
	client := hook(hooked{unary: func(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		got = ctx.Value(key{})
		return &testpb.SimpleResponse{}, nil
	}})
	if _, err := client.UnaryCall(context.WithValue(t.Context(), key{}, "viewer"), &testpb.SimpleRequest{}); err != nil {
		t.Fatal(err)
	}
	if got != "viewer" {
		t.Errorf("got %v, want viewer", got)
	}
}
