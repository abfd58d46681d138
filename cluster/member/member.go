package member

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
)

// Config holds the node's part in the cluster.
type Config struct {
	NodeName    string
	Register    bool              // create the Node object if it does not exist
	Labels      map[string]string // beside those that the node has
	Taints      []corev1.Taint    // of a Node object that is created
	ProviderID  string
	MaxImages   int           // images that the Node object lists, largest first; below zero means all
	KubeletPort int32         // of the node, for the API server
	Lease       time.Duration // after which the cluster considers a silent node lost

	// ExternalCloud leaves the addresses to a cloud controller, once the Node object has some.
	ExternalCloud bool
	// GivenIPs are the addresses that the node's configuration names. The cloud controller is told of them. Without any,
	// it alone knows the node's addresses.
	GivenIPs []netip.Addr

	EventsPerSecond float64 // to the cluster; zero means no limit
	EventBurst      int

	Board Board // nil if the node does not wait for the cluster

	StatusEvery  time.Duration // interval between computations of the node's status
	StatusAtMost time.Duration // interval between reports of an unchanged status
}

// pace returns the limit of events to the cluster.
func (c Config) pace() *rate.Limiter {
	if c.EventsPerSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(c.EventsPerSecond), max(1, c.EventBurst))
}

// Run makes the node a member of the cluster until the context ends. Neither the API server nor the node has to
// answer at the start, or all the time.
func Run(ctx context.Context, config Config, api *rest.Config, conn grpc.ClientConnInterface, log *slog.Logger) error {
	c, err := dial(api)
	if err != nil {
		return err
	}
	if config.Board == nil {
		config.Board = ready{}
	}
	queue, report := retry.NewQueue[types.NamespacedName](), reporter{config.NodeName, c, log}
	attachments := newAttachments(config.NodeName, c)
	objects := &objects{
		attachments: attachments, nodeName: config.NodeName, cluster: c, node: shelfOf(conn), ready: queue.Add, alarm: retry.NewAlarm(time.Now),
		log: log, used: map[node.ObjectRef]*usage{}, leaving: map[node.ObjectRef]chan struct{}{},
	}
	subnets := &subnets{nodeName: config.NodeName, cluster: c, board: config.Board}
	pods := &pods{
		nodeName: config.NodeName, cluster: c, node: nodev1.NewPodsServiceClient(conn), about: nodev1.NewNodeServiceClient(conn),
		objects: objects, subnets: subnets, queue: queue, board: config.Board, warn: report.warn, log: log, entries: map[types.NamespacedName]*entry{},
	}
	events := &events{
		reporter: report, node: nodev1.NewEventsServiceClient(conn), pod: pods.onNode, pace: config.pace(),
		limiters: map[string]*rate.Limiter{},
	}
	object := &nodeObject{
		config: config, cluster: c, node: nodev1.NewNodeServiceClient(conn), imagesOf: nodev1.NewImagesServiceClient(conn),
		inform: report.inform, log: log, now: time.Now, subnets: subnets,
	}
	devices := &deviceSlices{
		nodeName: config.NodeName, cluster: c, node: nodev1.NewNodeServiceClient(conn), log: log, gone: map[string]time.Time{},
	}
	drivers := &drivers{
		nodeName: config.NodeName, cluster: c, node: nodev1.NewNodeServiceClient(conn), log: log, now: time.Now,
		told: map[string]*nodev1.CSIDriver{}, attachments: attachments,
	}
	heart := &heart{nodeName: config.NodeName, cluster: c, lasts: config.Lease, log: log, now: time.Now}

	var all sync.WaitGroup
	all.Go(func() { events.run(ctx) })
	all.Go(func() {
		retry.Until(ctx, log, "cannot register the node yet", retry.Most, object.register)
		all.Go(func() { heart.run(ctx) })
		all.Go(func() { devices.run(ctx) })
		all.Go(func() { drivers.run(ctx) })
		object.run(ctx)
	})
	all.Go(func() {
		retry.Until(ctx, log, "cannot list the node's objects yet", retry.Most, objects.adopt)
		pods.run(ctx)
	})
	all.Wait()
	objects.done.Wait()
	return context.Cause(ctx)
}
