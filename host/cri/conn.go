package cri

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/containerd"
	"nodal/node"
)

// Conn is a connection to a container runtime: the services of CRI, and those that containerd has beside them. The
// other types of this package make their calls over it. They may be used from any goroutine.
type Conn struct {
	runtime  runtimeapi.RuntimeServiceClient
	images   runtimeapi.ImageServiceClient
	events   events
	tasks    tasks
	pulls    pulls
	commands commands
	timeout  time.Duration // of an ordinary call
	noResize atomic.Bool   // the runtime does not know UpdatePodSandboxResources

	resolver   resolver
	registries string // where it looks
	closers    []func() error
}

// events reports changes of containers where CRI itself has no events.
type events interface {
	Subscribe(context.Context) (next func() (containerd.Event, error), err error)
}

// tasks ends what CRI cannot end.
type tasks interface {
	End(ctx context.Context, container string) error
}

// pulls notes with each pull how much of its image is there.
type pulls interface {
	Count(context.Context, []node.Pull) error
}

// maxMessage bounds a runtime's answer: a list of all containers exceeds gRPC's 4 MiB on a busy
// machine.
const maxMessage = 16 << 20

// Dial makes a Conn that connects when it is first used and reconnects by itself. A runtime that is down is no error
// here.
func Dial(config Config) (*Conn, error) {
	config = config.withDefaults()
	conn, err := dial(config.Endpoint, config)
	if err != nil {
		return nil, err
	}
	images := conn
	closers := []func() error{conn.Close}
	if config.ImageEndpoint != config.Endpoint {
		if images, err = dial(config.ImageEndpoint, config); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		closers = append(closers, images.Close)
	}
	c := New(conn, images, config)
	c.closers = closers
	return c, nil
}

// New makes a Conn over connections that the caller keeps and closes.
func New(conn, images grpc.ClientConnInterface, config Config) *Conn {
	below, belowImages := containerd.New(conn), containerd.New(images)
	return &Conn{
		runtime:  runtimeapi.NewRuntimeServiceClient(conn),
		images:   runtimeapi.NewImageServiceClient(images),
		events:   below,
		tasks:    below,
		commands: below,
		pulls:    belowImages,
		timeout:  config.withDefaults().RequestTimeout,

		resolver: belowImages, registries: config.Registries,
	}
}

func dial(endpoint string, config Config) (*grpc.ClientConn, error) {
	target := endpoint
	if strings.HasPrefix(endpoint, "/") {
		target = "unix://" + endpoint
	}
	if !strings.HasPrefix(target, "unix:///") {
		return nil, fmt.Errorf("runtime endpoint %q: must be unix:///path or /path: %w", endpoint, node.ErrInvalid)
	}
	conn, err := grpc.NewClient(target, DialOptions(config)...)
	if err != nil {
		return nil, fmt.Errorf("set up connection to runtime %q: %w", endpoint, err)
	}
	return conn, nil
}

// DialOptions returns those that Dial uses, for callers that make connections for New. A lost connection is tried
// again soon: gRPC's own first pause of a second would delay the return of a restarted runtime.
func DialOptions(config Config) []grpc.DialOption {
	reconnect := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(interceptors(config)...),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
}

// Close ends the connections that Dial made, and with them every call.
func (c *Conn) Close() error {
	var errs []error
	for _, closer := range c.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// request bounds an ordinary call.
func (c *Conn) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}
