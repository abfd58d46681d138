package agent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/agent/config"
	"nodal/host/cdi"
	"nodal/host/cri/spec"
	"nodal/host/device"
	"nodal/node"
	"nodal/node/store"
)

// knownDevices returns a board of devices with the resources that the agent before knew.
func knownDevices(dir string, now time.Time, log *slog.Logger) *store.Devices {
	names, err := device.Known(dir)
	if err != nil {
		log.Warn("devices are not known until their plugins have registered", "err", err)
	}
	board := store.NewDevices()
	for _, name := range names {
		board.Remembered(name, now)
	}
	return board
}

// devices asks for devices where they come from: at their plugin, or in the specs of the machine.
type devices struct {
	*device.Plugins
	specs *cdi.Specs
}

// Prefers reports whether a plugin wants to choose devices itself.
func (d devices) Prefers(resource corev1.ResourceName) bool {
	return !d.specified(resource) && d.Plugins.Prefers(resource)
}

// Allocate returns what a container needs to have some devices.
func (d devices) Allocate(ctx context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error) {
	if d.specified(resource) {
		return d.specs.Allocate(ctx, resource, ids)
	}
	return d.Plugins.Allocate(ctx, resource, ids)
}

func (d devices) specified(resource corev1.ResourceName) bool {
	return d.Board.Resource(resource).CDI.Kind != ""
}

// specsOf returns the specs of devices, after a first look at them.
func specsOf(c config.CDI, board *store.Devices, log *slog.Logger) *cdi.Specs {
	specs := &cdi.Specs{Dirs: c.Dirs, Offers: c.Offers, Board: board, Log: log}
	specs.Look()
	return specs
}

// ofDevices contributes the devices of a container to its run: what their plugins have granted it.
func ofDevices(run spec.Run) (spec.Extras, error) {
	grant := run.Pod.Grants[run.Container.Name]
	extras := spec.Extras{Annotations: grant.Annotations, CDIDevices: grant.CDI}
	for _, name := range slices.Sorted(maps.Keys(grant.Env)) {
		extras.Env = append(extras.Env, &runtimeapi.KeyValue{Key: name, Value: []byte(grant.Env[name])})
	}
	for _, m := range grant.Mounts {
		extras.Mounts = append(extras.Mounts, &runtimeapi.Mount{HostPath: m.Host, ContainerPath: m.Container, Readonly: m.ReadOnly})
	}
	for _, d := range grant.Nodes {
		extras.Devices = append(extras.Devices, &runtimeapi.Device{HostPath: d.Host, ContainerPath: d.Container, Permissions: d.Permissions})
	}
	return extras, nil
}
