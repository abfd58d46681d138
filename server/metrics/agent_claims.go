package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// claims shows how full the volumes of claims are.
type claims struct {
	read  func(context.Context) []statsapi.VolumeStats
	parts []claimPart
}

// claimPart is one figure of a volume.
type claimPart struct {
	name, help string
	of         func(*statsapi.VolumeStats) *uint64
	desc       *prometheus.Desc
}

var _ prometheus.Collector = claims{}

// Claims registers how full the volumes of claims are, read at each scrape.
func (a *Agent) Claims(read func(context.Context) []statsapi.VolumeStats) {
	parts := []claimPart{
		{name: "capacity_bytes", help: "Capacity in bytes of the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.CapacityBytes }},
		{name: "available_bytes", help: "Number of available bytes in the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.AvailableBytes }},
		{name: "used_bytes", help: "Number of used bytes in the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.UsedBytes }},
		{name: "inodes", help: "Maximum number of inodes in the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.Inodes }},
		{name: "inodes_free", help: "Number of free inodes in the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.InodesFree }},
		{name: "inodes_used", help: "Number of used inodes in the volume",
			of: func(v *statsapi.VolumeStats) *uint64 { return v.InodesUsed }},
	}
	for i := range parts {
		p := &parts[i]
		p.desc = describe("volume_stats_"+p.name, p.help, "namespace", "persistentvolumeclaim")
	}
	a.registry.MustRegister(claims{read, parts})
}

// Describe sends the families.
func (c claims) Describe(to chan<- *prometheus.Desc) {
	for _, p := range c.parts {
		to <- p.desc
	}
}

// Collect reports each claim once, however many pods use it.
func (c claims) Collect(to chan<- prometheus.Metric) {
	seen := map[statsapi.PVCReference]bool{}
	for _, v := range c.read(context.Background()) { // a scrape has no context of its own
		if v.PVCRef == nil || seen[*v.PVCRef] {
			continue
		}
		seen[*v.PVCRef] = true
		for _, p := range c.parts {
			if value := p.of(&v); value != nil {
				to <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, float64(*value), v.PVCRef.Namespace,
					v.PVCRef.Name)
			}
		}
	}
}
