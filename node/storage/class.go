package storage

import (
	corev1 "k8s.io/api/core/v1"
)

// The storage classes for which the node makes volumes: directories on its disk.
const (
	LocalClass       = "nodal-local"        // removed when their claim is deleted
	LocalRetainClass = "nodal-local-retain" // kept
)

// annotationMaker marks the volumes that the node has made, with Kubernetes' name.
const annotationMaker = "pv.kubernetes.io/provisioned-by"

// Class returns the class that a claim asks for. A claim without one asks for the node's own.
func Class(c *corev1.PersistentVolumeClaim) string {
	if c.Spec.StorageClassName == nil {
		return ""
	}
	return *c.Spec.StorageClassName
}

func own(class string) bool { return class == "" || class == LocalClass || class == LocalRetainClass }

// Made reports whether the node has made a volume itself.
func Made(v *corev1.PersistentVolume) bool { return v.Annotations[annotationMaker] == LocalClass }

// Block reports whether a volume or claim is for a device, not for files.
func Block(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode == corev1.PersistentVolumeBlock
}

// Doomed reports whether the files of a volume have to be removed, and then its record.
func Doomed(v *corev1.PersistentVolume) bool {
	return Made(v) && v.DeletionTimestamp != nil && v.Status.Phase == corev1.VolumeReleased &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

func request(c *corev1.PersistentVolumeClaim) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}
}
