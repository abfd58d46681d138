package probe

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// check asks the gRPC health service of the pod.
func (r reach) check(ctx context.Context, probe node.Probe, timeout time.Duration) answer {
	at, err := place(probe.Address, probe.Ports, "", intstr.FromInt32(probe.Spec.GRPC.Port))
	if err != nil {
		return unasked(err)
	}
	transport := insecure.NewCredentials()
	if mode := probe.Spec.GRPC.Mode; mode != nil && *mode == corev1.GRPCProbeModeTLS {
		transport = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	conn, err := grpc.NewClient("passthrough:///"+at,
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return r.dial(ctx, "tcp", address) }),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithUserAgent(userAgent))
	if err != nil {
		return unasked(err)
	}
	defer conn.Close()
	request := &healthpb.HealthCheckRequest{}
	if probe.Spec.GRPC.Service != nil {
		request.Service = *probe.Spec.GRPC.Service
	}
	reply, err := healthpb.NewHealthClient(conn).Check(ctx, request)
	switch {
	case status.Code(err) == codes.DeadlineExceeded:
		return fails("timeout: health rpc did not complete within %s", timeout)
	case status.Code(err) == codes.Unimplemented:
		return fails("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", status.Convert(err).Message())
	case err != nil:
		return fails("error: health rpc probe failed: %v", err)
	case reply.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return fails("service unhealthy (responded with %q) at %s", reply.GetStatus(), at)
	}
	return answer{verdict: passing}
}
