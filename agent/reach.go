package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/cgroups"
	"nodal/agent/files"
	"nodal/agent/ownruntime"
	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/node"
	"nodal/node/limit"
)

// runtime is the container runtime of the node.
type runtime struct {
	client   *cri.Runtime
	endpoint string
	name     string              // as it calls itself, such as "containerd"
	own      *ownruntime.Runtime // nil if the runtime is not the agent's
	cgroups  *cgroups.Pods       // nil if pods have no cgroups of their own
}

// reach connects to the runtime that is configured, or brings one up. The runtime that it returns has to be
// closed even if it fails.
func reach(ctx context.Context, o Options, f facts, m memory) (r runtime, err error) {
	cfg := o.Config
	if r.endpoint = cfg.Runtime.Endpoint; r.endpoint == "" {
		if r.own, err = ownruntime.Start(ctx, cfg.Dirs, cfg.Runtime, m.state.Events, o.Log); err != nil {
			return r, err
		}
		r.endpoint = r.own.Endpoint()
	}
	var pods *cgroups.Pods // made below: the runtime knows the driver
	parent := fixedParent(cfg.Cgroups.Root, cfg.Dirs.Root, r.own)
	if cfg.Cgroups.PerPod {
		parent = func(pod *corev1.Pod) string { return pods.Parent(pod) }
	}
	if r.client, err = cri.Dial(cri.Config{
		Endpoint: r.endpoint, ImageEndpoint: cfg.Runtime.ImageEndpoint, RequestTimeout: cfg.Runtime.RequestTimeout,
		PodLogsDir: cfg.Dirs.PodLogs, ResolvConf: resolvConf(cfg.Pods.DNS.ResolvConf, o.Log),
		Node: func() spec.Node { return podNode(cfg, f) }, CgroupParent: parent, Objects: m.state.Store.Object,
		Extras:    []spec.Contributor{files.OfVolumes(m.volumes), m.files.Extras},
		LastWords: m.files.LastWords, Event: m.state.Events.Add, Called: m.counts.Called, Trace: f.tracing.Calls,
	}, o.Log); err != nil {
		return r, err
	}
	if cfg.Cgroups.PerPod {
		pods = podCgroups(o, f, m, r.own != nil, r.client.CgroupDriver)
		r.cgroups = pods
	}
	r.name = askName(ctx, r.client.Status, o.Log)
	return r, nil
}

// close lets go of the runtime. It stops a runtime of the agent's own if it is told so.
func (r runtime) close(stop bool) error {
	var err error
	if r.client != nil { // else it was not reached
		err = r.client.Close()
	}
	if r.own != nil {
		err = errors.Join(err, r.own.Close(stop))
	}
	return err
}

// podCgroups returns the cgroups of pods below the cgroup that is theirs.
func podCgroups(
	o Options, f facts, m memory, own bool, driver func(context.Context) (string, error),
) *cgroups.Pods {
	c := cgroups.Config{
		Mounts: f.cgroups, Driver: driver, Fallback: o.Config.Cgroups.Driver, Root: o.Config.Cgroups.Root,
		AllPods: func() limit.Limits { return f.offers.Read().Whole }, Running: m.state.Running, Log: o.Log,
	}
	if own && c.Root == "" {
		c.Name = ownruntime.PodCgroup(o.Config.Dirs.Root)
	} else { // other kubelets may have their pods there; a pod of this node has a directory of this node
		c.Ours = m.volumes.IsOurs
	}
	return cgroups.NewPods(c)
}

// fixedParent returns where pods belong that have no cgroups of their own.
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

// firstWord bounds how long the start waits for a runtime to introduce itself.
const firstWord = 500 * time.Millisecond

// askName asks the runtime for its status before the first pods come, and returns its name. A runtime that does
// not answer is taken for containerd until the next start. Its features are asked for with every look at the node.
func askName(
	ctx context.Context, status func(context.Context) (node.RuntimeStatus, error), log *slog.Logger,
) string {
	ctx, cancel := context.WithTimeout(ctx, firstWord)
	defer cancel()
	s, err := status(ctx)
	if err != nil {
		log.Debug("cannot read the features of the runtime yet", "err", err)
	}
	return cmp.Or(s.Name, "containerd")
}

// resolvConf returns the file that pods inherit. A host without it leaves them nothing.
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
