package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"nodal/agent/config"
	"nodal/host/registry"
	hostruntime "nodal/host/runtime"
	"nodal/host/runtime/embedded"
	"nodal/node"
	"nodal/node/store"
)

// ownRuntime is the container runtime that the agent brings along: containerd
// under its supervision, and a registry on loopback from which containerd takes
// the pause image and whatever was imported.
type ownRuntime struct {
	*hostruntime.Runtime
	images   *registry.Store
	registry *registry.Server
	hosts    *registry.Hosts
	hostsSay func(error) // what is wrong with the user's configuration of registries
}

// unpackCommand is what the agent calls itself with to unpack its runtime: the
// memory that this takes ends with the process.
const unpackCommand = "unpack-runtime"

func ownRuntimeConfig(cfg *config.Config, log *slog.Logger) hostruntime.Config {
	c := hostruntime.Config{
		RootDir: cfg.Dirs.Root, SandboxImage: cfg.Runtime.SandboxImage,
		CgroupDriver: cfg.Runtime.CgroupDriver, PodCIDRs: cfg.Runtime.PodCIDRs, Log: log,
	}
	if archive, index, ok := embedded.Bundle(); ok {
		c.Archive, c.Index = archive, index
		// Not by its path, where an upgrade may have put another program.
		c.UnpackCommand = []string{"/proc/self/exe", unpackCommand, cfg.Dirs.Root}
	}
	return c
}

// runUnpack is the process that ownRuntimeConfig names.
func runUnpack(args []string, c console) int {
	archive, index, ok := embedded.Bundle()
	err := errors.New("it takes one argument, the root directory")
	if len(args) == 1 && ok {
		err = hostruntime.Unpack(args[0], archive, index)
	}
	if err != nil {
		fmt.Fprintln(c.err, "unpack the container runtime:", err)
		return 1
	}
	return 0
}

// startOwnRuntime returns when pods can be made.
func startOwnRuntime(ctx context.Context, cfg *config.Config, events *store.Events, log *slog.Logger) (own *ownRuntime, err error) {
	c := ownRuntimeConfig(cfg, log)
	own = &ownRuntime{}
	if own.images, err = registry.Open(registry.Config{Dir: filepath.Join(cfg.Dirs.Root, "images"), Log: log}); err != nil {
		return nil, err
	}
	if pause := embedded.Pause(); pause != nil {
		seeded, err := own.images.Seed(pause)
		if err != nil {
			return nil, err
		}
		c.SandboxImage = cmp.Or(c.SandboxImage, seeded)
	}
	c.SandboxImage = cmp.Or(c.SandboxImage, config.DefaultSandboxImage)
	if own.registry, err = registry.Listen(own.images); err != nil {
		return nil, err
	}
	tell := func(e hostruntime.Event) {
		events.Add(node.Event{Time: time.Now(), Warning: e.Warning, Reason: e.Reason, Message: e.Message, Took: e.Took})
	}
	own.hostsSay = func(err error) {
		if err != nil {
			log.Warn("not every registry is configured as it should be", "err", err)
			tell(hostruntime.Event{Reason: "RegistryConfigInvalid", Warning: true, Message: err.Error()})
		}
	}
	own.hosts = &registry.Hosts{
		User: filepath.Join(cfg.Dirs.Root, "registries"), Effective: hostruntime.RegistriesDir(cfg.Dirs.Root), Mirror: own.registry.Mirror(),
	}
	own.hostsSay(own.hosts.Write())
	c.Tell = tell
	if own.Runtime, err = hostruntime.Start(ctx, c); err != nil {
		return nil, fmt.Errorf("start the node's own container runtime: %w", err)
	}
	return own, nil
}

// run serves images and keeps containerd up, in the group.
func (own *ownRuntime) run(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return own.registry.Serve(ctx) })
	group.Go(func() error {
		own.hosts.Follow(ctx, own.hostsSay)
		return nil
	})
	group.Go(func() error { return own.Run(ctx) })
}

// end lets go of containerd, or stops it.
func (own *ownRuntime) end(stop bool) error {
	var err error
	if stop {
		ctx, cancel := context.WithTimeout(context.Background(), stopRuntime)
		defer cancel()
		err = own.Stop(ctx)
	}
	return errors.Join(err, own.Close())
}

const stopRuntime = 20 * time.Second
