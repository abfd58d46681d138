package agent

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/host/device"
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
