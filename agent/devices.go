package agent

import (
	"maps"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
)

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
