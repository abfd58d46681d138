package cri

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/containerd"
	"nodal/host/cri/spec"
	"nodal/node"
)

// Runtime is a container runtime behind CRI v1. Its methods may be called
// from any goroutine.
type Runtime struct {
	config  Config
	log     *slog.Logger
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
	events  events
	tasks   tasks
	pulls   pulls
	keys    *keyIndex
	closers []func() error
	known   atomic.Pointer[node.RuntimeStatus]
	hearing hearing
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

// Dial makes a Runtime that connects when it is first used and reconnects by
// itself. A runtime that is down is no error here.
func Dial(config Config, log *slog.Logger) (*Runtime, error) {
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
	r := New(conn, images, config, log)
	r.closers = closers
	return r, nil
}

// New makes a Runtime over connections that the caller keeps and closes.
func New(conn, images grpc.ClientConnInterface, config Config, log *slog.Logger) *Runtime {
	below, belowImages := containerd.New(conn), containerd.New(images)
	return &Runtime{
		config:  config.withDefaults(),
		log:     log,
		runtime: runtimeapi.NewRuntimeServiceClient(conn),
		images:  runtimeapi.NewImageServiceClient(images),
		events:  below,
		tasks:   below,
		pulls:   belowImages,
		keys:    newKeyIndex(),
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

// DialOptions are those that Dial uses, for callers that make connections for New. A lost
// connection is tried again soon: gRPC's own first pause of a second would hide how fast
// a restarted runtime is back.
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
func (r *Runtime) Close() error {
	var errs []error
	for _, closer := range r.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// Do performs one action for a pod. The package comment tells what its errors
// mean.
func (r *Runtime) Do(ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	begin := time.Now()
	result, err := r.do(ctx, pod, got, action)
	result.At = time.Now()
	attributes := []any{"pod", pod.Key().String(), "uid", pod.UID(), "action", action.String(), "took", result.At.Sub(begin), "err", err}
	if about := action.About(); about.Container != "" {
		attempt, _ := about.AttemptIn(got)
		attributes = append(attributes, "container", about.Container, "attempt", attempt)
	}
	r.log.DebugContext(ctx, "did action", attributes...)
	return result, err
}

func (r *Runtime) do(ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	switch a := action.(type) {
	case node.RunSandbox:
		return r.runSandbox(ctx, pod, a)
	case node.InspectSandbox:
		return r.inspectSandbox(ctx, a)
	case node.StopSandbox:
		return node.Result{}, r.stopSandbox(ctx, pod, a)
	case node.RemoveSandbox:
		return node.Result{}, r.removeSandbox(ctx, a)
	case node.CreateContainer:
		return r.createContainer(ctx, pod, got, a)
	case node.StartContainer:
		return node.Result{}, r.startContainer(ctx, a)
	case node.ResizeContainer:
		return node.Result{}, r.resizeContainer(ctx, a)
	case node.InspectContainer:
		return r.inspectContainer(ctx, pod, got, a)
	case node.StopContainer:
		return node.Result{}, r.stopContainer(ctx, a)
	case node.RemoveContainer:
		return node.Result{}, r.removeContainer(ctx, a)
	}
	return node.Result{}, fmt.Errorf("%s: this is not for the runtime to do: %w", action, node.ErrUnsupported)
}

func (r *Runtime) warn(pod *node.Pod, n spec.Notice) {
	r.config.Event(node.Event{
		Time: time.Now(), Key: pod.Key(), UID: pod.UID(), Warning: true, Reason: n.Reason, Message: n.Message,
	})
}

// request bounds an ordinary call.
func (r *Runtime) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.config.RequestTimeout)
}
