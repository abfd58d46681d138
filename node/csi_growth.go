package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Kubernetes' words for volumes that grow.
const (
	VolumeResizeFailed         = "VolumeResizeFailed"
	FileSystemResizeSuccessful = "FileSystemResizeSuccessful"
)

type (
	// VolumeGrowth says that a volume of a CSI driver has a greater capacity than its claim knows of.
	VolumeGrowth struct {
		Volume *corev1.PersistentVolume
		Claim  *corev1.PersistentVolumeClaim
		Pod    *Pod // the first one that uses it, which hears of the growth; nil if none does
		Able   bool // its driver is there, and has volumes grow on the node
	}
	// ExpandVolume has a driver make the rest of a volume's capacity usable while pods have it, and tells the claim.
	ExpandVolume struct{ Growth VolumeGrowth }
)

// Size returns the capacity of the volume.
func (g VolumeGrowth) Size() resource.Quantity { return *g.Volume.Spec.Capacity.Storage() }

func (ExpandVolume) Target() string { return "growth" }
func (a ExpandVolume) String() string {
	size := a.Growth.Size()
	return "expand volume " + a.Growth.Volume.Name + " to " + size.String()
}

// About says that a driver is asked within minutes, or fails.
func (ExpandVolume) About() About { return About{Place: OnMachine, Nature: Quick} }

// Concerns returns the pod that hears of the growth.
func (a ExpandVolume) Concerns() *Pod { return a.Growth.Pod }

// Report says that a volume has grown.
func (a ExpandVolume) Report(Result) (Event, bool) {
	return Event{Reason: FileSystemResizeSuccessful, Message: fmt.Sprintf(
		"MountVolume.NodeExpandVolume succeeded for volume %q %s", a.Growth.Volume.Name, a.Growth.Pod.Object.Spec.NodeName)}, true
}
