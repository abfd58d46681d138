package ownruntime

import (
	"errors"
	"log/slog"

	"nodal/agent/config"
	hostruntime "nodal/host/runtime"
	"nodal/host/runtime/embedded"
)

// UnpackCommand is the word that the agent starts itself with to unpack the runtime. The memory that this
// takes ends with that process.
const UnpackCommand = "unpack-runtime"

// Config is the configuration of host/runtime for a node.
func Config(dirs config.Dirs, settings config.Runtime, log *slog.Logger) hostruntime.Config {
	c := hostruntime.Config{
		RootDir: dirs.Root, SandboxImage: settings.SandboxImage,
		CgroupDriver: settings.CgroupDriver, PodCIDRs: settings.PodCIDRs, Log: log,
	}
	if archive, index, ok := embedded.Bundle(); ok {
		c.Archive, c.Index = archive, index
		// Not by the program's path: after an upgrade another program is there.
		c.UnpackCommand = []string{"/proc/self/exe", UnpackCommand, dirs.Root}
	}
	return c
}

// Unpack unpacks the runtime that the binary holds into a node's root directory.
func Unpack(root string) error {
	archive, index, ok := embedded.Bundle()
	if !ok {
		return errors.New("this binary holds no container runtime")
	}
	return hostruntime.Unpack(root, archive, index)
}
