package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// CSIPlugin is Kubernetes' word for plugins that are drivers of volumes.
const CSIPlugin = "CSIPlugin"

// What a CSI driver may be able to do, in the words of CSI.
const (
	StagesVolumes  = "STAGE_UNSTAGE_VOLUME"     // volumes are made ready once, before pods get them
	MountsForGroup = "VOLUME_MOUNT_GROUP"       // it gives volumes to the fsGroup itself
	TellsWriters   = "SINGLE_NODE_MULTI_WRITER" // it tells one writer of a node from several
)

// CSIDriver holds what a CSI driver says of itself when it registers. Nothing of it is trusted.
type CSIDriver struct {
	Version      string            // its own
	Node         string            // its name for this node
	MostVolumes  int64             // that it can have on this node; 0 says nothing
	Topology     map[string]string // where this node is
	Capabilities []string          // in order
}

// Can reports whether a driver has said that it can do something. A driver that is not known can do nothing.
func (d *CSIDriver) Can(what string) bool { return d != nil && slices.Contains(d.Capabilities, what) }

// CSIVolume names a volume of a CSI driver.
type CSIVolume struct{ Driver, Handle string }

// CSIVolumeOf returns the volume behind a PersistentVolume, if a CSI driver has it.
func CSIVolumeOf(v *corev1.PersistentVolume) (CSIVolume, bool) {
	if v == nil || v.Spec.CSI == nil {
		return CSIVolume{}, false
	}
	return CSIVolume{v.Spec.CSI.Driver, v.Spec.CSI.VolumeHandle}, true
}
