package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nodal/host/podnet"
	"nodal/host/podnet/nft"
	hostruntime "nodal/host/runtime"

	"nodal/test/pace"
)

// BundleEnv names the variable with the directory of the kubelet's own bundle. Rigs then run the
// containerd of the bundle, as a node does, and not the machine's.
const BundleEnv = "NODAL_RIG_BUNDLE"

// own is the containerd of a bundle.
type own struct {
	config  hostruntime.Config
	running *hostruntime.Runtime
}

// Bundle makes the rig run the containerd of the bundle in a directory.
func Bundle(dir string) Option { return func(r *Runtime) { r.bundle = dir } }

func (r *Runtime) useBundle() error {
	if r.bundle == "" {
		return nil
	}
	archive, err := os.ReadFile(filepath.Join(r.bundle, "bundle.tar.zst"))
	index, err2 := os.ReadFile(filepath.Join(r.bundle, "bundle.json"))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("read the bundle (make bundle builds it): %w", err)
	}
	r.own = &own{config: hostruntime.Config{
		RootDir: r.Dir, StateDir: r.slot.state(), Archive: archive, Index: index,
		SandboxImage: r.Image(r.pause), CgroupDriver: cgroupDriver(), Log: slog.New(slog.DiscardHandler),
	}}
	r.own.config.Network = podNetwork(r.own.config, netip.MustParsePrefix(r.slot.subnet()))
	r.Endpoint = "unix://" + filepath.Join(r.own.config.StateDir, "containerd.sock")
	return nil
}

// podNetwork returns the network of a runtime's pods.
func podNetwork(c hostruntime.Config, subnets ...netip.Prefix) *podnet.Network {
	return podnet.New(podnet.Config{Places: podnet.Places(c.Places()), CIDRs: subnets, Reopens: len(c.Index) > 0})
}

func cgroupDriver() string {
	if systemdCgroups() {
		return "systemd"
	}
	return "cgroupfs"
}

func (o *own) start(r *Runtime) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(startTimeout))
	defer cancel()
	if o.running, err = hostruntime.Start(ctx, o.config); err != nil {
		return err
	}
	// Agents under test use this runtime as they use any other, and let none of its pods onto the network.
	if err := nft.Remove(nft.Table{Family: nft.Bridge, Name: r.slot.table()}); err != nil {
		return err
	}
	r.Pid, r.LogPath = o.running.Pid(), o.running.LogPath()
	return o.configureRegistry(r)
}

// configureRegistry makes containerd pull from the rig's registry, as the machine's containerd
// does.
func (o *own) configureRegistry(r *Runtime) error {
	dir := filepath.Join(hostruntime.RegistriesDir(r.Dir), "nodal.test")
	var text strings.Builder
	if err := hostsTemplate.Execute(&text, map[string]any{"Registry": r.registry.host}); err != nil {
		return fmt.Errorf("render hosts.toml: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of registries: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write hosts.toml: %w", err)
	}
	return nil
}

func (o *own) kill(pid int) error {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill containerd: %w", err)
	}
	if !eventually(startTimeout, func() bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }) {
		return fmt.Errorf("kill containerd: process %d does not go", pid)
	}
	return o.running.Close()
}

// cleanOwn removes what a bundle's containerd has left outside the directory of the slot.
func (s slot) cleanOwn() error {
	if _, err := os.Stat(filepath.Join(s.dir(), "runtime")); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(startTimeout))
	defer cancel()
	c := hostruntime.Config{RootDir: s.dir(), StateDir: s.state()}
	c.Network = podNetwork(c)
	return hostruntime.Clean(ctx, c)
}

// bridges returns the possible names of a rig's bridge: the rig's own, and that of a bundle's
// containerd.
func (s slot) bridges() []string { return []string{s.bridge(), "nd-" + hostruntime.ID(s.dir())[:6]} }

// table returns the nftables table of a bundle's containerd.
func (s slot) table() string { return ownTables + hostruntime.ID(s.dir()) }

// state returns the state directory. It is short: a unix address has 108 bytes, and the shims'
// sockets go below it.
func (s slot) state() string { return filepath.Join(s.dir(), "x") }
