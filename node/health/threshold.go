package health

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The parts of the names of signals about disks.
const (
	nodeFs, imageFs, containerFs = "nodefs", "imagefs", "containerfs"
	available, inodesFree        = ".available", ".inodesFree"
)

// Names of signals, as thresholds of eviction have them.
const (
	MemoryAvailable            = "memory.available"
	AllocatableMemoryAvailable = "allocatableMemory.available" // of what all pods together may use
	NodeFsAvailable            = nodeFs + available
	NodeFsInodesFree           = nodeFs + inodesFree
	ImageFsAvailable           = imageFs + available
	ImageFsInodesFree          = imageFs + inodesFree
	PIDAvailable               = "pid.available"
)

// Resource names the resource that a signal measures, as pods ask for it. It is empty for other signals.
func Resource(signal string) corev1.ResourceName {
	switch signal {
	case MemoryAvailable:
		return corev1.ResourceMemory
	case NodeFsAvailable:
		return corev1.ResourceEphemeralStorage
	}
	return ""
}

// Threshold is an amount that has to be left, or a part of what there is.
type Threshold struct {
	Quantity resource.Quantity
	Percent  float64
}

// Of returns the threshold as an amount, for a capacity.
func (t Threshold) Of(capacity resource.Quantity) resource.Quantity {
	if t.Percent == 0 {
		return t.Quantity
	}
	return *resource.NewQuantity(int64(float64(capacity.Value())*t.Percent/100), resource.BinarySI)
}

// Pressures lists the conditions of pressure that hold.
func Pressures(conditions []corev1.NodeCondition) []corev1.NodeConditionType {
	var short []corev1.NodeConditionType
	for _, c := range conditions {
		if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
			short = append(short, c.Type)
		}
	}
	return short
}
