package agent

import (
	"nodal/host/cri/spec"
	"nodal/host/dra"
	"nodal/node"
)

// claimDrivers returns the drivers of devices that resource claims allocate.
func claimDrivers(o Options, m memory, r runtime) *dra.Drivers {
	return dra.New(dra.Config{
		RegistryDir: o.Config.Dirs.Plugins(), Counts: m.counts, Ignored: r.health.IgnoresCDI,
		Driver: func(name string) (node.Plugin, bool) { return m.plugins.Registered(node.DRAPlugin, name) },
	})
}

// ofClaims contributes the devices of resource claims to the run of a container that names them.
func ofClaims(run spec.Run) (spec.Extras, error) {
	return spec.Extras{CDIDevices: run.Pod.ClaimedCDI(run.Container)}, nil
}
