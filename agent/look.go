package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/membership"
	"nodal/agent/offering"
	"nodal/agent/tracing"
	"nodal/host/cdi"
	"nodal/host/cgroup"
	"nodal/host/machine"
	"nodal/host/notify"
	"nodal/host/oom"
	"nodal/host/self"
	"nodal/host/tunable"
	"nodal/node/offer"
	"nodal/node/store"
)

// facts describe the machine, the cluster and the node's offer, as found at the start.
type facts struct {
	started    time.Time
	machine    machine.Facts
	addresses  []string
	identity   identity
	cgroups    cgroup.Mounts
	supervisor notify.Supervisor
	offers     *offer.Board           // what the node offers to pods
	owner      *offering.Owner        // of the offers
	devices    *store.Devices         // that plugins and specs list
	specs      *cdi.Specs             // of devices without a plugin
	cluster    *membership.Membership // nil if the node stands alone
	tracing    tracing.Hooks
	kernel     *oom.Log         // nil if it cannot be read
	warnings   []config.Warning // of the machine
}

// look reads the facts of the machine and of the cluster, and posts the node's first offer. It makes the node's root
// directory first, whose disk is offered to pods.
func look(ctx context.Context, o Options) (f facts, err error) {
	cfg := o.Config
	for _, w := range config.Warnings(cfg) {
		o.Log.Warn("a setting needs a look", "setting", w.Setting, "problem", w.Problem, "remedy", w.Remedy)
	}
	if err := os.MkdirAll(cfg.Dirs.Root, 0o755); err != nil {
		return f, fmt.Errorf("make the root directory: %w", err)
	}
	f.started = time.Now()
	if f.supervisor, err = notify.FromEnvironment(); err != nil {
		return f, err
	}
	if f.machine, err = machine.Look(os.DirFS("/"), f.started); err != nil {
		return f, err
	}
	if f.addresses, err = addresses(ctx, cfg, o.Log); err != nil {
		return f, err
	}
	f.identity = newIdentity(cfg.Node.Name, f.addresses, cfg.Dirs, o.Log)
	if f.cluster, err = newMembership(o, f.addresses); err != nil {
		return f, err
	}
	if err := tune(tunable.Proc, cfg.Node.Tunables, o.Log); err != nil {
		return f, err
	}
	if f.tracing, err = tracing.New(cfg.Process.Tracing, cfg.Node.Name, o.Version, o.Log); err != nil {
		return f, err
	}
	if f.cgroups, err = cgroups.Find(cfg.Cgroups, f.machine.Swaps, o.Log); err != nil {
		return f, err
	}
	moved := cgroups.Enter(cfg.Cgroups, f.cgroups, o.Log) // before there is a runtime, which goes along
	f.kernel, f.warnings = hearKills(oom.Path, f.cgroups, o.Log)
	f.warnings = append(f.warnings, moved...)
	f.warnings = append(f.warnings, adjust(cfg, self.OOMScorePath, o.Log)...)
	for _, w := range cgroups.Unkept(cfg.Cgroups, f.cgroups.Version, f.machine.Kernel) {
		o.Log.Warn("the machine does not suit a setting", "setting", w.Setting, "problem", w.Problem, "remedy", w.Remedy)
		f.warnings = append(f.warnings, w)
	}
	f.offers, f.devices = &offer.Board{}, knownDevices(cfg.Dirs.DevicePlugins(), f.started, o.Log)
	f.specs = specsOf(cfg.CDI, f.devices, o.Log)
	if f.owner, err = beginOffer(cfg, f.machine, f.offers, f.devices, o.Log); err != nil {
		return f, err
	}
	return f, cgroups.HoldReserved(ctx, cfg, f.cgroups)
}

// newMembership makes the node a member of the cluster that is configured. It returns nil without one.
func newMembership(o Options, addresses []string) (*membership.Membership, error) {
	cfg := o.Config
	if cfg.Cluster.Kubeconfig == "" {
		return nil, nil
	}
	return membership.New(membership.Config{
		NodeName: cfg.Node.Name, Labels: cfg.Node.Labels, Addresses: addresses, Port: cfg.Listen.Port,
		CertDir: cfg.Dirs.Cert, Cluster: cfg.Cluster, Auth: cfg.Auth, Version: o.Version, Log: o.Log,
	})
}
