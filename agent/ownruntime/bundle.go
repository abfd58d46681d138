package ownruntime

import (
	"context"
	"errors"
	"log/slog"

	"nodal/agent/config"
	"nodal/host/podnet"
	hostruntime "nodal/host/runtime"
	"nodal/host/runtime/embedded"
)

// UnpackCommand is the verb by which the agent runs its own program to unpack the runtime, in a process that ends with
// the memory it took.
const UnpackCommand = "unpack-runtime"

// Config returns the configuration of host/runtime for a node.
func Config(dirs config.Dirs, settings config.Runtime, log *slog.Logger) hostruntime.Config {
	c := hostruntime.Config{
		RootDir: dirs.Root, SandboxImage: settings.SandboxImage,
		CgroupDriver: settings.CgroupDriver, Link: dirs.RuntimeLink, Log: log, CDIDirs: settings.CDIDirs,
	}
	if archive, index, ok := embedded.Bundle(); ok {
		c.Archive, c.Index = archive, index
		// The program's path may lead to another program after an upgrade.
		c.UnpackCommand = []string{"/proc/self/exe", UnpackCommand, dirs.Root}
	}
	c.Network = network(c, settings, nil, nil)
	return c
}

// network returns the network of a runtime's pods. source tells what they are held to, and leads where services lead; nil
// stands for nothing.
func network(c hostruntime.Config, settings config.Runtime, source podnet.Source, leads podnet.Leads) *podnet.Network {
	return podnet.New(podnet.Config{
		Places: podnet.Places(c.Places()), CIDRs: settings.PodCIDRs, Reopens: len(c.Index) > 0, Closed: settings.Closed,
		Source: source, Leads: leads, Services: settings.ServiceCIDR,
	})
}

// Clean removes everything of a node's runtime from the machine, the link to its socket included. The agent must not be
// running.
func Clean(ctx context.Context, dirs config.Dirs) error {
	return hostruntime.Clean(ctx, Config(dirs, config.Runtime{}, slog.New(slog.DiscardHandler)))
}

// Unpack unpacks the runtime that the binary holds into a node's root directory.
func Unpack(root string) error {
	archive, index, ok := embedded.Bundle()
	if !ok {
		return errors.New("this binary holds no container runtime")
	}
	return hostruntime.Unpack(root, archive, index)
}
