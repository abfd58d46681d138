package inproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// service answers as its requests ask.
type service struct {
	testpb.UnimplementedTestServiceServer
}

func (service) UnaryCall(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	grpc.SetHeader(ctx, metadata.Pairs("set", "header"))
	grpc.SendHeader(ctx, metadata.Pairs("got", strings.Join(md["ask"], "+")))
	late := grpc.SetHeader(ctx, metadata.Pairs("late", "yes"))
	grpc.SetTrailer(ctx, metadata.Pairs("late-refused", fmt.Sprint(late != nil)))
	outgoing, _ := metadata.FromOutgoingContext(ctx)
	method, _ := grpc.Method(ctx)
	grpc.SetTrailer(ctx, metadata.Pairs("outgoing", fmt.Sprint(len(outgoing)), "method", method))
	if s := in.GetResponseStatus(); s != nil {
		return nil, status.Error(codes.Code(s.Code), s.Message)
	}
	return &testpb.SimpleResponse{Payload: in.Payload}, nil
}

func (service) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return nil, errors.New("no status of its own")
}

func (service) StreamingInputCall(s testpb.TestService_StreamingInputCallServer) error {
	var total int32
	for {
		in, err := s.Recv()
		if err == io.EOF {
			return s.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: total})
		}
		if err != nil {
			return err
		}
		if len(in.GetPayload().GetBody()) == 0 {
			return status.Error(codes.InvalidArgument, "an empty payload")
		}
		total += int32(len(in.GetPayload().GetBody()))
	}
}

func (service) StreamingOutputCall(in *testpb.StreamingOutputCallRequest, s testpb.TestService_StreamingOutputCallServer) error {
	s.SetHeader(metadata.Pairs("set", "header"))
	s.SetTrailer(metadata.Pairs("set", "trailer"))
	out := &testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{}}
	for _, p := range in.GetResponseParameters() {
		out.Payload.Body = []byte(strings.Repeat("x", int(p.Size))) // senders may reuse a message
		if err := s.Send(out); err != nil {
			return err
		}
	}
	if st := in.GetResponseStatus(); st != nil {
		return status.Error(codes.Code(st.Code), st.Message)
	}
	return nil
}

func (service) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	for {
		in, err := s.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if string(in.GetPayload().GetBody()) == "stop" {
			return status.Error(codes.Aborted, "stopped")
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{Payload: in.Payload}); err != nil {
			return err
		}
	}
}

func register(r grpc.ServiceRegistrar) {
	testpb.RegisterTestServiceServer(r, service{})
	h := health.NewServer()
	h.SetServingStatus("pods", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(r, h)
}

// stamp is an interceptor that adds its name to the header, so that the order shows.
func stamp(name string) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			grpc.SetHeader(ctx, metadata.Pairs("stamp", name+" "+info.FullMethod))
			return h(ctx, req)
		}, func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			ss.SetHeader(metadata.Pairs("stamp", fmt.Sprint(name, info.FullMethod, info.IsClientStream, info.IsServerStream)))
			return h(srv, ss)
		}
}

func newConn() *Conn {
	u1, s1 := stamp("outer")
	u2, s2 := stamp("inner")
	c := New([]grpc.UnaryServerInterceptor{u1, u2}, []grpc.StreamServerInterceptor{s1, s2})
	register(c)
	reflectionpb.RegisterServerReflectionServer(c, reflection.NewServerV1(reflection.ServerOptions{Services: listed{}}))
	return c
}

// listed shows one service to reflection.
type listed struct{}

func (listed) GetServiceInfo() map[string]grpc.ServiceInfo {
	return map[string]grpc.ServiceInfo{"grpc.testing.TestService": {}}
}

// dialReal makes the same server behind a real connection.
func dialReal(t *testing.T) *grpc.ClientConn {
	t.Helper()
	u1, s1 := stamp("outer")
	u2, s2 := stamp("inner")
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(u1, u2), grpc.ChainStreamInterceptor(s1, s2))
	register(server)
	reflectionpb.RegisterServerReflectionServer(server, reflection.NewServerV1(reflection.ServerOptions{Services: listed{}}))
	l := bufconn.Listen(1 << 16)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:bufconn",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// transcript records what a client saw, without the details of a wire.
type transcript struct{ strings.Builder }

func (t *transcript) add(what string, values ...any) { fmt.Fprintln(t, what, fmt.Sprint(values...)) }

func (t *transcript) metadata(what string, md metadata.MD) {
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for k := range md {
			if k != "content-type" && !yield(k) {
				return
			}
		}
	}) {
		t.add(what, key, "=", strings.Join(md[key], ","))
	}
}

func (t *transcript) err(err error) {
	if err == io.EOF {
		t.add("end")
		return
	}
	t.add("error", status.Code(err), status.Convert(err).Message())
}

func payload(body string) *testpb.Payload { return &testpb.Payload{Body: []byte(body)} }

func unary(ctx context.Context, conn grpc.ClientConnInterface, log *transcript, in *testpb.SimpleRequest) {
	var header, trailer metadata.MD
	var from peer.Peer
	finished := false
	out, err := testpb.NewTestServiceClient(conn).UnaryCall(ctx, in, grpc.Header(&header), grpc.Trailer(&trailer),
		grpc.Peer(&from), grpc.OnFinish(func(error) { finished = true }))
	log.add("body", string(out.GetPayload().GetBody()))
	log.err(err)
	log.metadata("header", header)
	log.metadata("trailer", trailer)
	log.add("finished", finished, "peer", from.Addr != nil)
}

func output(ctx context.Context, conn grpc.ClientConnInterface, log *transcript, in *testpb.StreamingOutputCallRequest) {
	s, err := testpb.NewTestServiceClient(conn).StreamingOutputCall(ctx, in)
	if err != nil {
		log.err(err)
		return
	}
	header, err := s.Header()
	log.metadata("header", header)
	log.err(err)
	for {
		out, err := s.Recv()
		if err != nil {
			log.err(err)
			break
		}
		log.add("got", len(out.GetPayload().GetBody()))
	}
	log.metadata("trailer", s.Trailer())
}

// TestBehavesLikeARealConnection runs each scenario over bufconn and in process, and
// compares what the client sees.
func TestBehavesLikeARealConnection(t *testing.T) {
	scenarios := map[string]func(context.Context, grpc.ClientConnInterface, *transcript){
		"a unary call carries metadata both ways": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			ctx = metadata.AppendToOutgoingContext(ctx, "Ask", "one", "ask", "two")
			unary(ctx, c, log, &testpb.SimpleRequest{Payload: payload("hello")})
		},
		"a unary error keeps its code, header and trailer": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			unary(ctx, c, log, &testpb.SimpleRequest{ResponseStatus: &testpb.EchoStatus{Code: int32(codes.NotFound), Message: "no such pod"}})
		},
		"an error without a status is unknown": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			_, err := testpb.NewTestServiceClient(c).EmptyCall(ctx, &testpb.Empty{})
			log.err(err)
		},
		"a method that the service leaves out is unimplemented": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			_, err := testpb.NewTestServiceClient(c).CacheableUnaryCall(ctx, &testpb.SimpleRequest{})
			log.err(err)
		},
		"a cancelled context makes no call": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := testpb.NewTestServiceClient(c).UnaryCall(ctx, &testpb.SimpleRequest{})
			log.err(err)
			_, err = testpb.NewTestServiceClient(c).FullDuplexCall(ctx)
			log.err(err)
		},
		"a server stream ends after its last message": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			output(ctx, c, log, &testpb.StreamingOutputCallRequest{
				ResponseParameters: []*testpb.ResponseParameters{{Size: 1}, {Size: 2}, {Size: 3}}})
		},
		"a server stream that fails delivers what it sent first": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			output(ctx, c, log, &testpb.StreamingOutputCallRequest{
				ResponseParameters: []*testpb.ResponseParameters{{Size: 1}},
				ResponseStatus:     &testpb.EchoStatus{Code: int32(codes.OutOfRange), Message: "compacted"}})
		},
		"a client stream is answered after it closes": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			s, err := testpb.NewTestServiceClient(c).StreamingInputCall(ctx)
			log.err(err)
			for _, body := range []string{"a", "bb", "ccc"} {
				log.err(s.Send(&testpb.StreamingInputCallRequest{Payload: payload(body)}))
			}
			out, err := s.CloseAndRecv()
			log.add("sum", out.GetAggregatedPayloadSize())
			log.err(err)
		},
		"a client stream that the handler refuses says why": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			s, err := testpb.NewTestServiceClient(c).StreamingInputCall(ctx)
			log.err(err)
			log.err(s.Send(&testpb.StreamingInputCallRequest{}))
			_, err = s.CloseAndRecv()
			log.err(err)
		},
		"a bidirectional stream echoes in lock step": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			s, err := testpb.NewTestServiceClient(c).FullDuplexCall(ctx)
			log.err(err)
			for _, body := range []string{"a", "b", "stop"} {
				log.err(s.Send(&testpb.StreamingOutputCallRequest{Payload: payload(body)}))
				out, err := s.Recv()
				log.add("echo", string(out.GetPayload().GetBody()))
				log.err(err)
			}
			log.err(s.Send(&testpb.StreamingOutputCallRequest{}))
			header, err := s.Header()
			log.metadata("header", header)
			log.err(err)
		},
		"sending after CloseSend is an error": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			s, err := testpb.NewTestServiceClient(c).FullDuplexCall(ctx)
			log.err(err)
			log.err(s.CloseSend())
			log.err(s.CloseSend())
			log.add("code", status.Code(s.Send(&testpb.StreamingOutputCallRequest{})))
		},
		"health is checked and watched": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			ctx, cancel := context.WithCancel(ctx)
			out, err := healthpb.NewHealthClient(c).Check(ctx, &healthpb.HealthCheckRequest{Service: "pods"})
			log.add("status", out.GetStatus())
			log.err(err)
			s, err := healthpb.NewHealthClient(c).Watch(ctx, &healthpb.HealthCheckRequest{Service: "pods"})
			log.err(err)
			out, err = s.Recv()
			log.add("status", out.GetStatus())
			log.err(err)
			cancel()
			_, err = s.Recv()
			log.err(err)
		},
		"reflection lists services": func(ctx context.Context, c grpc.ClientConnInterface, log *transcript) {
			s, err := reflectionpb.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
			log.err(err)
			log.err(s.Send(&reflectionpb.ServerReflectionRequest{
				MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"}}))
			out, err := s.Recv()
			log.add("services", len(out.GetListServicesResponse().GetService()), out.GetListServicesResponse().GetService()[0].GetName())
			log.err(err)
			log.err(s.CloseSend())
			_, err = s.Recv()
			log.err(err)
		},
	}
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var got, want transcript
			scenario(ctx, dialReal(t), &want)
			scenario(ctx, newConn(), &got)
			if got.String() != want.String() {
				t.Errorf("in process:\n%s\nover a connection:\n%s", got.String(), want.String())
			}
		})
	}
}
