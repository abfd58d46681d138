package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"

	nodefleet "nodal/fleet"
	"nodal/host/cri"
	"nodal/host/image"
	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/reconciler"
	nodeserver "nodal/server"
	"nodal/server/auth"
	"nodal/server/metrics"
	simcri "nodal/sim/cri"
)

// simulated is a node on a simulated runtime: store, intake, reconciler, adapter and API are the real ones.
type simulated struct {
	name    string
	runtime *simcri.Server
	api     grpc.ClientConnInterface
	leave   func() // the fleet: it ends what stands for apisync, and waits for that
}

// newSimulated runs a node until the test ends. Nodes of one test share their credentials.
func newSimulated(t *testing.T, name string, guard *auth.Authenticator) *simulated {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	runtime := simcri.NewServer(simcri.Config{Images: []simcri.Image{{Ref: "app:1", Local: true}, {Ref: "app:2", PullTime: 200 * time.Millisecond}}})
	link := runtime.Link()
	conn, err := link.Dial()
	must(t, err)
	adapter := cri.New(conn, conn, cri.Config{RequestTimeout: time.Minute})
	health := cri.NewHealth(adapter)
	clock, err := store.OpenClock(forgetful{}, nil)
	must(t, err)
	held, events := store.New(forgetful{}, clock), store.NewEvents(clock)
	sources := store.NewSources(nil)
	site := node.Site{NodeName: name, Runtime: "sim", BackoffMax: node.DefaultBackoffMax}
	offers := &offer.Board{}
	offers.Post(offer.Offer{Node: admit.Node{Name: name}})
	var uids atomic.Int64
	in := intake.Intake{Store: held, Source: node.SourceAPI, Offer: offers.Read, NewUID: func() types.UID {
		return types.UID(fmt.Sprintf("%s-%d", name, uids.Add(1)))
	}}
	loop := reconciler.New(reconciler.Config{
		Prober: unprobed{},
		Act: reconciler.Act{
			Store: held, Runtime: cri.NewPods(adapter, health, cri.PodConfig{LogsDir: t.TempDir()}, log), Logs: unlogged{}, Volumes: bare{}, Storage: storage.Keeper{}, Clock: time.Now,
			Images: image.New(image.Config{Runtime: cri.NewImages(adapter), Tell: events.Add}),
		},
		Events: events, Sources: sources, Offers: offers, Site: site, Log: log, Relist: reconciler.PollEvery, Starts: 4,
	})
	api, err := nodeserver.New(nodeserver.Config{
		State: nodeserver.State{Store: held, Events: events, Sources: sources, Offers: offers, Site: site, Intake: in},
		Machine: nodeserver.Machine{
			System: nodeserver.SystemLogs{Files: fstest.MapFS{}},
			Vitals: reconciler.NewVitals(reconciler.VitalsConfig{Runtime: health, Clock: time.Now, Log: log}),
			Alive:  loop.Alive, Probes: func() []*node.ProbeCount { return nil },
		},
		Facts: nodeserver.Facts{Version: "sim", Started: time.Now()},
		Front: nodeserver.Front{Auth: guard, Requests: metrics.NewAgent(name, 0, held.Views)},
		Now:   time.Now, Log: log,
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	t.Cleanup(func() {
		api.Stop()
		cancel()
		<-ended
		conn.Close()
		link.Close()
	})
	return &simulated{name: name, runtime: runtime, api: trusted{api.Local(), "apisync of " + name}}
}

// join has the node run the pods that stand in etcd.
func (n *simulated) join(t *testing.T, config nodefleet.Config) {
	config.Node, config.Prefix = n.name, scalePrefix+n.name
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		nodefleet.Run(ctx, config, n.api, slog.New(slog.DiscardHandler))
	}()
	n.leave = func() {
		cancel()
		<-ended
	}
	t.Cleanup(func() { n.leave() })
}

// forgetful is a journal that keeps nothing: these nodes do not restart.
type forgetful struct{}

func (forgetful) Commit(...store.Record) error         { return nil }
func (forgetful) CommitReserved(...store.Record) error { return nil }

// unprobed asks no probes.
type unprobed struct{}

func (unprobed) Set(node.Key, []node.Probe)  {}
func (unprobed) Results() <-chan node.Probed { return nil }

// unlogged has no logs.
type unlogged struct{}

func (unlogged) Link(node.Key, *node.Container)                      {}
func (unlogged) Unlink(node.Key, string, string)                     {}
func (unlogged) RemovePod(node.Key, types.UID) error                 { return nil }
func (unlogged) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }
func (unlogged) Sweep(context.Context, func(types.UID) bool) error   { return nil }
func (unlogged) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

// bare has no volumes.
type bare struct{}

func (bare) SetUp(_ context.Context, pod *node.Pod, name string) error {
	return fmt.Errorf("pod %s has volume %s, and this node has none", pod.Key(), name)
}
func (bare) TearDown(context.Context, types.UID) error                             { return nil }
func (bare) Sweep(context.Context, func(types.UID) bool) error                     { return nil }
func (bare) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) { return nil, nil }

// trusted calls the API of a node as a process of its machine does.
type trusted struct {
	conn grpc.ClientConnInterface
	name string // the nodes of a test share the count of a caller's streams, so each has a caller of its own
}

func (c trusted) as(ctx context.Context) context.Context {
	return auth.NewContext(ctx, auth.Identity{Name: c.name, Role: auth.RoleAdmin, Via: auth.ViaProcess})
}

func (c trusted) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	return c.conn.Invoke(c.as(ctx), method, in, out, opts...)
}

func (c trusted) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.conn.NewStream(c.as(ctx), desc, method, opts...)
}
