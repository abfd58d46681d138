package member

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
)

// Config holds the node's part in the cluster.
type Config struct {
	NodeName    string
	Register    bool              // make the Node object if it is not there
	Labels      map[string]string // beside those that the node has
	Taints      []corev1.Taint    // of a Node object that is made
	ProviderID  string
	MaxImages   int           // that the Node object names, the largest; below zero: all
	KubeletPort int32         // at which the API server finds the node
	Lease       time.Duration // after which a silent node is lost

	// ExternalCloud says that addresses are a cloud's to say, once the Node object has some.
	ExternalCloud bool

	EventsPerSecond float64 // bound on events to the cluster; zero means no bound
	EventBurst      int

	StatusEvery  time.Duration // the node's status is made
	StatusAtMost time.Duration // it is not sent while nothing in it changes
}

// Run makes the node a member of the cluster until the context ends. Neither side
// has to be there when it begins, nor to stay.
func Run(ctx context.Context, config Config, api *rest.Config, conn grpc.ClientConnInterface, log *slog.Logger) error {
	c, err := dial(api)
	if err != nil {
		return err
	}
	objects := &objects{
		nodeName: config.NodeName, cluster: c, node: shelfOf(conn), log: log, ctx: ctx, alarm: retry.NewAlarm(time.Now),
		used: map[node.ObjectRef]*usage{}, leaving: map[node.ObjectRef]chan struct{}{},
	}
	pods := newPods(config.NodeName, c, nodev1.NewPodsServiceClient(conn), objects, log)
	objects.ready = pods.queue.Add
	told := &events{
		nodeName: config.NodeName, cluster: c, node: nodev1.NewEventsServiceClient(conn), pod: pods.onNode,
		pace: rate.NewLimiter(rate.Inf, 0), log: log, told: map[string]*rate.Limiter{},
	}
	pods.warn = told.warn
	place := &place{
		config: config, cluster: c, node: nodev1.NewNodeServiceClient(conn), imagesOf: nodev1.NewImagesServiceClient(conn),
		inform: told.inform, log: log, now: time.Now,
	}
	heart := &heart{nodeName: config.NodeName, cluster: c, lasts: config.Lease, log: log, now: time.Now}
	if config.EventsPerSecond > 0 {
		told.pace = rate.NewLimiter(rate.Limit(config.EventsPerSecond), max(1, config.EventBurst))
	}

	var all sync.WaitGroup
	all.Go(func() { told.run(ctx) })
	all.Go(func() {
		retry.Until(ctx, log, "cannot register the node yet", retry.Most, place.register)
		all.Go(func() { heart.run(ctx) })
		place.run(ctx)
	})
	all.Go(func() {
		retry.Until(ctx, log, "cannot list the node's objects yet", retry.Most, objects.adopt)
		pods.run(ctx)
	})
	all.Wait()
	objects.done.Wait()
	return context.Cause(ctx)
}
