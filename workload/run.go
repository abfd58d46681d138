package workload

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/workload/decide"
)

// Config says what a Runner works on. The context of its Run has to hold the identity that the connection wants.
type Config struct {
	API   grpc.ClientConnInterface // of the node
	Known <-chan struct{}          // closed once the node has seen its pods; nil if it has
	Clock func() time.Time
	Log   *slog.Logger
}

// Runner runs the workloads of one node.
type Runner struct {
	Config
	manifests nodev1.ManifestsServiceClient
	pods      nodev1.PodsServiceClient
	objects   nodev1.ObjectsServiceClient
	node      nodev1.NodeServiceClient
	trouble   map[types.UID]trouble // by workload
	told      map[types.UID]string  // faults of workloads that are in the log
}

// trouble says why a pod could not be made, and since when.
type trouble struct {
	why string
	at  time.Time
}

// New returns a Runner.
func New(c Config) *Runner {
	return &Runner{
		Config: c, trouble: map[types.UID]trouble{},
		manifests: nodev1.NewManifestsServiceClient(c.API), pods: nodev1.NewPodsServiceClient(c.API), objects: nodev1.NewObjectsServiceClient(c.API),
		node: nodev1.NewNodeServiceClient(c.API),
	}
}

const (
	gap   = 50 * time.Millisecond // between two looks: changes come in swarms
	retry = time.Second           // after a look or a watch that fails
	sulk  = 10 * time.Second      // after a pod that could not be made
)

// Run looks after the workloads until the context ends.
func (r *Runner) Run(ctx context.Context) {
	news := make(bell, 1)
	news.ring()
	go r.follow(ctx, news, "workloads", r.watchObjects)
	go r.await(ctx, news)
	watchPods := watch{start: func(ctx context.Context) { r.follow(ctx, news, "pods", r.watchPods) }}
	watchNode := watch{start: func(ctx context.Context) { r.follow(ctx, news, "the node", r.watchNode) }}
	defer watchPods.stop()
	defer watchNode.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-timer.C:
		}
		again, what := r.turn(ctx)
		watchPods.keep(ctx, what.pods)
		watchNode.keep(ctx, what.node)
		pause(ctx, gap)
		timer.Stop()
		if !again.IsZero() {
			timer.Reset(wait(again.Sub(r.Clock()), what.clock))
		}
	}
}

// needs says what has to be watched beside workloads, and whether the clock has to be.
type needs struct {
	pods bool // there are workloads
	node bool // there are DaemonSets

	clock bool // there are CronJobs, whose times follow the clock
}

// longest bounds a wait for the time of a CronJob: a timer knows nothing of a clock that is set, or that ran on while the machine
// slept.
const longest = time.Minute

// wait returns how long a timer runs until a moment that is so far away.
func wait(away time.Duration, clock bool) time.Duration {
	if clock {
		away = min(away, longest)
	}
	return max(0, away)
}

// turn takes one look and does what follows from it. It returns when time alone may bring more to do, and what to watch.
func (r *Runner) turn(ctx context.Context) (again time.Time, what needs) {
	world, err := r.look(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.Log.Warn("cannot look at the workloads of the node", "err", err)
		}
		return r.Clock().Add(retry), needs{pods: true, node: len(world.DaemonSets) > 0}
	}
	what = needs{pods: !world.Empty(), node: len(world.DaemonSets) > 0, clock: len(world.CronJobs) > 0}
	plan := decide.Next(world)
	r.tell(plan.Faults)
	again = plan.Again
	soonest := func(at time.Time) {
		if !at.IsZero() && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	for _, c := range plan.Changes {
		if ctx.Err() != nil {
			return again, what
		}
		soonest(r.do(ctx, c))
	}
	return again, what
}

// tell logs each fault of a workload once.
func (r *Runner) tell(faults map[types.UID]string) {
	for uid, why := range faults {
		if r.told[uid] != why {
			r.Log.Warn("cannot run a workload", "err", why)
		}
	}
	r.told = faults
}

// bell wakes one sleeper, however often it rings.
type bell chan struct{}

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// follow rings for each message of a watch, and watches again after a lost one.
func (r *Runner) follow(ctx context.Context, news bell, what string, watch func(context.Context, func()) error) {
	for ctx.Err() == nil {
		err := watch(ctx, news.ring)
		if ctx.Err() == nil {
			r.Log.Debug("watching again", "what", what, "err", err)
		}
		news.ring()
		pause(ctx, retry)
	}
}

// await rings once the node has seen its pods.
func (r *Runner) await(ctx context.Context, news bell) {
	select {
	case <-ctx.Done():
	case <-r.Known:
		news.ring()
	}
}

func (r *Runner) watchObjects(ctx context.Context, each func()) error {
	stream, err := r.objects.WatchObjects(ctx, &nodev1.WatchObjectsRequest{Kinds: kinds()})
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			each()
		}
	}
	return err
}

func (r *Runner) watchPods(ctx context.Context, each func()) error {
	stream, err := r.pods.WatchPods(ctx, &nodev1.WatchPodsRequest{})
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			each()
		}
	}
	return err
}

func (r *Runner) watchNode(ctx context.Context, each func()) error {
	stream, err := r.node.WatchNode(ctx, &nodev1.WatchNodeRequest{})
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			each()
		}
	}
	return err
}

// kinds lists the kinds of workloads, of their parts, and of what leads to their pods.
func kinds() (names []string) {
	for _, k := range node.Kinds() {
		used := k.Name == node.PersistentVolumeClaim || k.Name == node.Service || k.Name == node.EndpointSlice // StatefulSets make claims
		if k.Workload || k.Part || used {
			names = append(names, k.Plural)
		}
	}
	return names
}

// watch follows something as long as that matters.
type watch struct {
	start func(context.Context)
	end   context.CancelFunc // nil while it does not run
}

func (w *watch) keep(ctx context.Context, wanted bool) {
	switch {
	case wanted && w.end == nil:
		ctx, w.end = context.WithCancel(ctx)
		go w.start(ctx)
	case !wanted:
		w.stop()
	}
}

func (w *watch) stop() {
	if w.end != nil {
		w.end()
		w.end = nil
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
