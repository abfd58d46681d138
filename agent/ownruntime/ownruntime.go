package ownruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"nodal/agent/config"
	"nodal/agent/state"
	"nodal/host/podnet"
	"nodal/host/registry"
	hostruntime "nodal/host/runtime"
	"nodal/host/runtime/embedded"
	"nodal/node"
	"nodal/node/store"
)

// stopWait limits how long containerd may take to stop.
const stopWait = 20 * time.Second

// Runtime is a containerd under the agent's supervision, with the registry that it pulls imported images from.
type Runtime struct {
	containerd *hostruntime.Runtime
	network    *podnet.Network
	subnets    *Subnets
	images     *registry.Store
	registry   *registry.Server
	hosts      *registry.Hosts
	store      *store.Store
	events     *store.Events
	log        *slog.Logger
}

// Start starts the runtime, or adopts the one of an earlier agent. It returns when pods can be made.
func Start(
	ctx context.Context, dirs config.Dirs, settings config.Runtime, s *state.State, log *slog.Logger,
) (*Runtime, error) {
	images, err := registry.Open(registry.Config{Dir: dirs.Images(), Unpacked: settings.ImportLimit, Log: log})
	if err != nil {
		return nil, err
	}
	sandbox, err := sandboxImage(settings.SandboxImage, images)
	if err != nil {
		return nil, err
	}
	served, err := registry.Listen(images)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		images: images, registry: served, store: s.Store, events: s.Events, log: log,
		hosts: &registry.Hosts{
			User: dirs.Registries(), Effective: hostruntime.RegistriesDir(dirs.Root),
			Direct: hostruntime.DirectRegistriesDir(dirs.Root), Mirror: served.Mirror(),
		},
	}
	r.hostsWritten(r.hosts.Write())
	c := Config(dirs, settings, log)
	r.network = network(c, settings, wishes{s.Store}, leadsOf(settings, s.Store))
	c.SandboxImage, c.Tell, c.Network = sandbox, s.Events.Add, r.network
	if r.containerd, err = hostruntime.Start(ctx, c); err != nil {
		return nil, fmt.Errorf("start the node's own container runtime: %w", err)
	}
	r.subnets = &Subnets{
		network: r.network, fixed: len(settings.PodCIDRs) > 0, loaded: r.containerd.AwaitSubnets, event: s.Events.Add,
		call: make(chan struct{}, 1),
	}
	return r, nil
}

// sandboxImage puts the bundled pause image into the registry, and returns the image of sandboxes: the configured one,
// or else the bundled one, or else the default.
func sandboxImage(configured string, images *registry.Store) (string, error) {
	seeded := ""
	if pause := embedded.Pause(); pause != nil {
		var err error
		if seeded, err = images.Seed(pause); err != nil {
			return "", err
		}
	}
	return cmp.Or(configured, seeded, config.DefaultSandboxImage), nil
}

// hostsWritten reports a fault in the owner's configuration of registries. nil is none.
func (r *Runtime) hostsWritten(err error) {
	if err != nil {
		r.log.Warn("cannot configure some registries", "err", err)
		r.events.Add(node.Event{Time: time.Now(), Reason: "RegistryConfigInvalid", Warning: true, Message: err.Error()})
	}
}

// Endpoint returns the address of the runtime's CRI service.
func (r *Runtime) Endpoint() string { return r.containerd.Endpoint() }

// LogFile returns the file to which containerd logs. It is empty if the runtime is not the agent's.
func (r *Runtime) LogFile() string {
	if r == nil {
		return ""
	}
	return r.containerd.LogFile()
}

// CgroupDriver returns "cgroupfs" or "systemd".
func (r *Runtime) CgroupDriver() string { return r.containerd.CgroupDriver() }

// Connect returns a function that lets a sandbox onto the network of pods. It is nil if the runtime is not the agent's.
func (r *Runtime) Connect() func(sandbox string) error {
	if r == nil {
		return nil
	}
	return r.network.Connect
}

// Making keeps the network of pods as it is while a sandbox is made. It is nil if the runtime is not the agent's.
func (r *Runtime) Making() func() (made func()) {
	if r == nil {
		return nil
	}
	return r.network.Making
}

// Subnets returns what leads the network of pods to the cluster's subnets; nil if the runtime is not the agent's.
func (r *Runtime) Subnets() *Subnets {
	if r == nil {
		return nil
	}
	return r.subnets
}

// Garbage lists what the network still holds of pods that are gone. There is none if the runtime is not the agent's: its
// network belongs to others.
func (r *Runtime) Garbage(ctx context.Context) ([]node.Garbage, error) {
	if r == nil {
		return nil, nil
	}
	return r.network.Garbage(ctx, r.containerd.Sandboxes)
}

// Fault says what the network cannot do on this machine; it is empty if there is no such thing, or if the runtime is not
// the agent's.
func (r *Runtime) Fault() string {
	if r == nil {
		return ""
	}
	return r.network.Fault()
}

// Unheld says why pods are not held to NetworkPolicies; it is empty if they are.
func (r *Runtime) Unheld() string {
	if r == nil {
		return "with --container-runtime-endpoint, pods are on the network of that runtime's CNI plugins, which do not know " +
			"the node's objects; leave that flag out, or use the means of those plugins"
	}
	return r.Fault()
}

// unfollowed tells of NetworkPolicies that could not be applied.
func (r *Runtime) unfollowed(err error) {
	r.log.Warn("cannot apply NetworkPolicies", "err", err)
	r.events.Add(node.Event{Time: time.Now(), Reason: "NetworkPolicyFailed", Warning: true,
		Message: "the rules from before stay in force: " + err.Error()})
}

// unled tells of services whose packets may not find their pods.
func (r *Runtime) unled(err error) {
	r.log.Warn("cannot lead packets to the pods of services", "err", err)
	r.events.Add(node.Event{Time: time.Now(), Reason: "ServicesFailed", Warning: true,
		Message: "services lead where they did before: " + err.Error()})
}

// Services returns the network that leads packets for services to their pods; nil if the runtime is not the agent's.
func (r *Runtime) Services() *podnet.Network {
	if r == nil {
		return nil
	}
	return r.network
}

// Pid returns the process of containerd.
func (r *Runtime) Pid() int { return r.containerd.Pid() }

// Registries returns the directory that leads to registries without the node's own. It is empty if the runtime is not
// the agent's.
func (r *Runtime) Registries() string {
	if r == nil {
		return ""
	}
	return r.hosts.Direct
}

// Images returns the store of the registry.
func (r *Runtime) Images() *registry.Store { return r.images }

// Run serves the registry and supervises containerd until the context ends. Services lead to pods once these were looked
// at: after a boot of the machine the slices have addresses from before.
func (r *Runtime) Run(ctx context.Context, looked <-chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.registry.Serve(ctx) })
	group.Go(func() error {
		r.hosts.Follow(ctx, r.hostsWritten)
		return nil
	})
	group.Go(func() error {
		r.network.Follow(ctx, r.store.Changed, r.unfollowed)
		return nil
	})
	group.Go(func() error {
		followOnce(ctx, looked, func() { r.network.FollowServices(ctx, r.store.Changed, r.unled) })
		return nil
	})
	group.Go(func() error {
		r.subnets.Follow(ctx, r.store.Changed)
		return nil
	})
	group.Go(func() error { return r.containerd.Run(ctx) })
	return group.Wait()
}

// followOnce begins once the pods were looked at.
func followOnce(ctx context.Context, looked <-chan struct{}, follow func()) {
	select {
	case <-looked:
		follow()
	case <-ctx.Done():
	}
}

// Close closes the connection to containerd. stop also ends containerd.
func (r *Runtime) Close(stop bool) error {
	var err error
	if stop {
		ctx, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		err = r.containerd.Stop(ctx)
	}
	return errors.Join(err, r.containerd.Close())
}

// PodCgroup returns the name of the cgroup of all pods. It differs from those of other nodes on the machine.
func PodCgroup(root string) string { return "kubepods-" + hostruntime.ID(root) }
