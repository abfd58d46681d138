package agent

import (
	"nodal/host/cri"
	"nodal/host/csi"
	"nodal/host/dra"
	"nodal/host/plugin"
	"nodal/host/stats"
	"nodal/host/usage"
	"nodal/host/volume"
	"nodal/reconciler"
	"nodal/reconciler/evict"
	"nodal/reconciler/gc"
	"nodal/server/runs"
)

// The adapters meet the interfaces of reconciler and server as they are.
var (
	_ reconciler.Runtime = (*cri.Pods)(nil)
	_ reconciler.Volumes = (*volume.Tree)(nil)
	_ reconciler.Plugins = (*plugin.Registry)(nil)
	_ volume.Drivers     = (*csi.Volumes)(nil)
	_ runs.Containers    = (*cri.Streams)(nil)

	_ reconciler.StagedVolumes = (*csi.Volumes)(nil)
	_ reconciler.VolumeFiles   = (*volume.Tree)(nil)
	_ reconciler.ClaimDrivers  = (*dra.Drivers)(nil)
	_ reconciler.RuntimeHealth = (*cri.Health)(nil)
	_ evict.Disk               = (*usage.Meter)(nil)
	_ evict.Pressures          = (*reconciler.Vitals)(nil)
	_ evict.Images             = (*gc.Collector)(nil)
	_ stats.Disk               = (*usage.Meter)(nil)
	_ stats.Runtime            = (*cri.Stats)(nil)
	_ evict.Logs               = (*gc.LogCollector)(nil)
)
