package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	hostcri "nodal/host/cri"
	"nodal/host/image"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/reconciler"
)

// agent is one start of the agent, from what the disk kept.
type agent struct {
	store   *store.Store
	clock   *store.Clock
	sources *store.Sources
	session *session
	cut     func()       // ends it as a SIGKILL does
	ended   <-chan error // the reconciler's end
	asked   atomic.Bool  // a client waits for its answer; the agent does not die before it
	told    bool         // the static pods were delivered
}

// noLogs has no logs to remove or link.
type noLogs struct{}

func (noLogs) Link(node.Key, *node.Container)                      {}
func (noLogs) Unlink(node.Key, string, string)                     {}
func (noLogs) RemovePod(node.Key, types.UID) error                 { return nil }
func (noLogs) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }
func (noLogs) Sweep(context.Context, func(types.UID) bool) error   { return nil }
func (noLogs) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

// noVolumes has no volumes to lay out.
type noVolumes struct{}

func (noVolumes) SetUp(context.Context, *node.Pod, string) error    { return nil }
func (noVolumes) TearDown(context.Context, types.UID) error         { return nil }
func (noVolumes) Sweep(context.Context, func(types.UID) bool) error { return nil }
func (noVolumes) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

// noProber runs no probes.
type noProber struct{}

func (noProber) Set(node.Key, []node.Probe)  {}
func (noProber) Results() <-chan node.Probed { return nil }

func site() node.Site {
	return node.Site{NodeName: "sim", Runtime: "containerd", BackoffMax: time.Minute}
}

// boot starts an agent that opens its own connections.
func (r *run) boot() (*agent, error) {
	config := hostcri.Config{RequestTimeout: requestTimeout}
	conn, err := r.link.Dial(hostcri.DialOptions(config)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	a := &agent{}
	a.asked.Store(true) // until it has started
	defer a.asked.Store(false)
	a.cut = func() {
		_ = conn.Close() // the connection may be closed already
		cancel()
	}
	a.session = &session{disk: r.disk, strike: func() moment { return r.commits.strike(a) }, die: a.cut}
	if err := a.restore(r.disk.load()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	events := store.NewEvents(a.clock)
	adapter := hostcri.New(conn, conn, config)
	pods := hostcri.NewPods(
		adapter, hostcri.NewHealth(adapter), hostcri.PodConfig{LogsDir: r.logs}, slog.New(slog.DiscardHandler))
	images := image.Config{
		Runtime: hostcri.NewImages(adapter), Tell: events.Add, Log: slog.New(slog.DiscardHandler),
	}
	in := intake.Intake{Store: a.store}
	loop := reconciler.New(reconciler.Config{
		Act: reconciler.Act{
			Store: a.store, Runtime: &heard{adapter: planted{pods, r.bug}, witness: r.witness},
			Images: image.New(images), Logs: noLogs{}, Volumes: noVolumes{}, Storage: storage.Keeper{}, Clock: time.Now,
			Freed: func(tx *store.Tx) { in.Readmit(tx, time.Now()) },
		},
		Prober: noProber{}, Events: events, Sources: a.sources, Site: site(),
		Log: slog.New(slog.DiscardHandler), Relist: reconciler.PollEvery, Starts: 4,
	})
	ended := make(chan error, 1)
	a.ended = ended
	go func() { ended <- loop.Run(ctx) }()
	return a, nil
}

// restore loads the records that the disk kept.
func (a *agent) restore(records []store.Record) error {
	clock, err := store.OpenClock(a.session, records)
	if err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	a.clock, a.store = clock, store.New(a.session, clock)
	if err := errors.Join(a.store.Restore(records)...); err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	a.sources = store.NewSources(map[node.Source]string{node.SourceFile: "/pods"})
	return nil
}

// kill ends the agent at once and waits until nothing of it is left.
func (a *agent) kill() error {
	a.session.end()
	a.cut()
	return <-a.ended
}
