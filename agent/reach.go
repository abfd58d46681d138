package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/cgroups"
	"nodal/agent/files"
	"nodal/agent/ownruntime"
	"nodal/agent/state"
	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/host/registry"
	"nodal/node"
	"nodal/node/limit"
)

// runtime is the container runtime of the node.
type runtime struct {
	conn     *cri.Conn // the parts below use it
	pods     *cri.Pods
	images   *cri.Images
	streams  *cri.Streams
	stats    *cri.Stats
	health   *cri.Health
	endpoint string
	name     string              // as it calls itself, such as "containerd"
	own      *ownruntime.Runtime // nil if the runtime is not the agent's
	cgroups  *cgroups.Pods       // nil if pods have no cgroups of their own
}

// reach connects to the configured runtime, or starts the agent's own. Its result has to be closed even after an error.
func reach(ctx context.Context, o Options, f facts, m memory) (r runtime, err error) {
	cfg := o.Config
	if r.endpoint = cfg.Runtime.Endpoint; r.endpoint == "" {
		settings := cfg.Runtime
		settings.NoServices = settings.NoServices || f.cluster != nil // which has them
		if r.own, err = ownruntime.Start(ctx, cfg.Dirs, settings, m.state, o.Log); err != nil {
			return r, err
		}
		r.endpoint = r.own.Endpoint()
	}
	if r.conn, err = cri.Dial(cri.Config{
		Endpoint: r.endpoint, ImageEndpoint: cfg.Runtime.ImageEndpoint, RequestTimeout: cfg.Runtime.RequestTimeout,
		Registries: r.own.Registries(), Called: m.counts.Called, Trace: f.tracing.Calls,
	}); err != nil {
		return r, err
	}
	r.health, r.images = cri.NewHealth(r.conn), cri.NewImages(r.conn)
	r.streams, r.stats = cri.NewStreams(r.conn, o.Log), cri.NewStats(r.conn)
	parent := fixedParent(cfg.Cgroups.Root, cfg.Dirs.Root, r.own)
	if cfg.Cgroups.PerPod {
		r.cgroups = cgroups.NewPods(placeOf(cfg.Dirs.Root, r.own != nil, m.volumes.IsOurs, cgroups.Config{
			Mounts: f.cgroups, Fallback: cfg.Cgroups.Driver, Root: cfg.Cgroups.Root, Running: m.state.Running, Log: o.Log,
			Keep:   cgroups.Rules(cfg.Cgroups, f.cgroups.Version).Memory.Keep,
			Memory: func() int64 { return f.offers.Read().Memory }, Reserve: cfg.Cgroups.Reserve,
			Driver: r.health.CgroupDriver, AllPods: func() limit.Limits { return f.offers.Read().AllPods },
		}))
		parent = r.cgroups.Parent
	}
	fixed := fixedNode(cfg.Pods, cfg.Dirs.Seccomp(), spec.Machine{
		Name: cfg.Node.Name, IPs: f.addresses, HugePageSizes: f.machine.HugePages, Throttles: f.machine.Throttles,
		OOMGroup: cgroups.OOMGroup(cfg.Cgroups, f.cgroups), Guards: f.cgroups.Version == 2,
	})
	r.pods = cri.NewPods(r.conn, r.health, cri.PodConfig{
		LogsDir: cfg.Dirs.PodLogs, ResolvConf: resolvConf(cfg.Pods.DNS.ResolvConf, o.Log), CgroupParent: parent,
		// Swap limits are looked for each time: before the first container there may be no cgroup that shows them.
		Node: func() spec.Node {
			read := podNode(fixed, f.offers.Read(), f.cgroups.Version == 2 && f.cgroups.LimitsSwap())
			return withServices(read, services(cfg.Runtime, f, r.own), m.state.Store)
		},
		Objects: m.state.Store.Object, Files: m.volumes.OpenFile, Extras: []spec.Contributor{files.OfVolumes(m.volumes), ofDevices, ofClaims, m.files.Extras},
		LastWords: m.files.LastWords, Event: m.state.Events.Add, Connect: r.own.Connect(), Making: r.own.Making(),
	}, o.Log)
	r.name = askName(ctx, r.health.Status, o.Log)
	tellUnheld(m.state, r.own.Unheld)
	return r, nil
}

// usePodCIDRs returns the function that takes the subnets which a cluster has given the node: that of the agent's own
// network, or else the runtime's.
func (r runtime) usePodCIDRs() func(ctx context.Context, cidrs []string) error {
	if own := r.own.Subnets(); own != nil {
		return own.Use
	}
	return r.pods.UsePodCIDRs
}

// tellUnheld tells of NetworkPolicies from before that nothing holds pods to now. New ones are refused.
func tellUnheld(s *state.State, unheld func() string) {
	policies, _ := s.Store.Objects(node.NetworkPolicy)
	if why := unheld(); why != "" && len(policies) > 0 {
		s.Events.Add(node.Event{Time: time.Now(), Reason: "NetworkPolicyWithoutEffect", Warning: true,
			Message: fmt.Sprintf("NetworkPolicies on this node (%d) have no effect: %s", len(policies), why)})
	}
}

// registry returns the registry of a runtime that is the agent's own, or else nil.
func (r runtime) registry() *registry.Store {
	if r.own == nil {
		return nil
	}
	return r.own.Images()
}

// pid returns a function for the process of a runtime that is the agent's own, or else nil.
func (r runtime) pid() func() int {
	if r.own == nil {
		return nil
	}
	return r.own.Pid
}

// close closes the connection to the runtime. stop ends a runtime that is the agent's own.
func (r runtime) close(stop bool) error {
	var err error
	if r.conn != nil { // nil if reach failed
		err = r.conn.Close()
	}
	if r.own != nil {
		err = errors.Join(err, r.own.Close(stop))
	}
	return err
}

// placeOf sets where the cgroups of pods are. A runtime of the agent's own has its pods in a cgroup that is named after
// the node's root directory. Any other place may also hold pods of other kubelets, and ours tells them apart.
func placeOf(root string, own bool, ours func(types.UID) bool, c cgroups.Config) cgroups.Config {
	if own && c.Root == "" {
		c.Name = ownruntime.PodCgroup(root)
	} else {
		c.Ours = ours
	}
	return c
}

// fixedParent returns a function for the parent cgroup of all pods, which have none of their own.
func fixedParent(configured, root string, own *ownruntime.Runtime) func(*corev1.Pod) string {
	parent := configured
	if parent == "" && own != nil {
		parent = "/" + ownruntime.PodCgroup(root)
		if own.CgroupDriver() == "systemd" {
			parent = ownruntime.PodCgroup(root) + ".slice"
		}
	}
	return func(*corev1.Pod) string { return parent }
}

// nameTimeout bounds how long the start waits for the name of the runtime.
const nameTimeout = 500 * time.Millisecond

// askName returns the name of the runtime. A runtime that does not answer counts as containerd until the next start. Its
// features are read with every look at the node.
func askName(
	ctx context.Context, status func(context.Context) (node.RuntimeStatus, error), log *slog.Logger,
) string {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	s, err := status(ctx)
	if err != nil {
		log.Debug("cannot read the name of the runtime yet", "err", err)
	}
	return cmp.Or(s.Name, "containerd")
}

// resolvConf returns the resolver configuration that pods inherit; empty if the file cannot be read.
func resolvConf(path string, log *slog.Logger) string {
	if path == "" {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		log.Warn("cannot read the resolver configuration; pods get none", "err", err)
		return ""
	}
	return path
}
