package server

import (
	"context"
	"log/slog"
	"path"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"nodal/server/wire"
)

// Requests to the socket of pod resources. Upstream has the same bounds: a client asks every few seconds.
const (
	resourcesPerSecond = 100
	resourcesAtOnce    = 10
	resourcesPatience  = 100 * time.Millisecond
)

// upstreamSockets are the servers behind upstream's two sockets of a node. Files' modes say who may connect.
type upstreamSockets struct{ resources, pods *grpc.Server }

func newUpstreamSockets(cfg Config, stopped <-chan struct{}) upstreamSockets {
	count, bound := cfg.Front.Requests.CountResources, rate.NewLimiter(resourcesPerSecond, resourcesAtOnce)
	s := upstreamSockets{
		resources: socketServer(cfg.Log, func(
			ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (answer any, err error) {
			defer func() { count(path.Base(info.FullMethod), err != nil) }()
			patience, cancel := context.WithTimeout(ctx, resourcesPatience)
			defer cancel()
			if bound.Wait(patience) != nil {
				return nil, status.Errorf(codes.ResourceExhausted, "more than %d requests a second; ask again later", resourcesPerSecond)
			}
			return handler(ctx, request)
		}),
		pods: socketServer(cfg.Log),
	}
	podresourcesv1.RegisterPodResourcesListerServer(s.resources, &upstreamResources{
		store: cfg.State.Store, offers: cfg.State.Offers, site: cfg.State.Site,
	})
	podsv1alpha1.RegisterPodsServer(s.pods, &upstreamPods{
		store: cfg.State.Store, render: newRenderer(cfg.State.Site), stopped: stopped,
	})
	return s
}

// socketServer returns a server whose errors are statuses, and which outlives a panic of one call.
func socketServer(log *slog.Logger, before ...grpc.UnaryServerInterceptor) *grpc.Server {
	unary := func(
		ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
	) (answer any, err error) {
		defer recovered(ctx, log, info.FullMethod, &err)
		if answer, err = handler(ctx, request); err != nil {
			return nil, wire.StatusOf(err).Err()
		}
		return answer, nil
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		defer recovered(ss.Context(), log, info.FullMethod, &err)
		if err := handler(srv, ss); err != nil {
			return wire.StatusOf(err).Err()
		}
		return nil
	}
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(append(before, unary)...), grpc.StreamInterceptor(stream),
		grpc.ConnectionTimeout(5*time.Second)) // a caller that says nothing must not hold up the end of the agent
	reflection.Register(s)
	return s
}

// PodResources returns the server of upstream's socket that says which resources belong to single containers.
func (s *Server) PodResources() *grpc.Server { return s.upstream.resources }

// PodsAPI returns the server of upstream's socket that lists and watches pods.
func (s *Server) PodsAPI() *grpc.Server { return s.upstream.pods }
