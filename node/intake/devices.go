package intake

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
)

// unregistered refuses a pod that asks for devices of which the node knows nothing: it would run without them. A
// cluster may count resources that its nodes do not know, and its pods are placed by that. What pods hold is known,
// also while its plugin is away.
func (in Intake) unregistered(tx *store.Tx, pod *node.Pod) *node.Refusal {
	if node.FromCluster(pod.Object) {
		return nil
	}
	offered := in.offered()
	for c := range node.Containers(&pod.Object.Spec) {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			amount := c.Resources.Limits[name]
			_, listed := offered.Allocatable[name]
			if !node.IsExtended(name) || amount.IsZero() || listed || offered.Assigned[name] || held(tx, name) {
				continue
			}
			return &node.Refusal{Reason: "UnexpectedAdmissionError", Lack: node.LackDevices, Message: fmt.Sprintf(
				"Pod was rejected: Allocate failed due to cannot allocate unregistered device %s, which is unexpected", name)}
		}
	}
	return nil
}

// held reports whether a pod holds devices of a resource.
func held(tx *store.Tx, resource corev1.ResourceName) bool {
	for _, slot := range tx.All() {
		for _, shares := range slot.Shares() {
			for _, share := range shares {
				if len(share.Devices[resource]) > 0 {
					return true
				}
			}
		}
	}
	return false
}
