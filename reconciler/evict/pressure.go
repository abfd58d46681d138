package evict

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
	"nodal/node/health"
)

// Situation holds all that a pass decides on.
type Situation struct {
	Due        []health.Crossing // the most urgent first
	Ending     bool              // a pod that was evicted still ends
	Reclaiming bool              // unused images and remains of containers are being removed
	Reclaimed  time.Time         // when that last began; zero for never
	Ended      time.Time         // when a pod that was evicted was last seen to end; zero for never
	Now        time.Time
}

// Deed names an answer to a shortage.
type Deed string

const (
	Rest    Deed = "rest"
	Await   Deed = "await the end of a pod"
	Reclaim Deed = "reclaim what nothing uses"
	Evict   Deed = "evict a pod"
)

// Step is the deed of a pass, and the crossing that asks for it.
type Step struct {
	Do  Deed
	For health.Crossing
}

// reclaimAgain is the time after which a lasting shortage of a disk is answered by another look for unused images.
const reclaimAgain = time.Minute

// Next decides what a pass does. For a disk everything goes first that nothing uses. After a pod was evicted, that
// includes what is left of it. Then one pod goes, and the next only if the node is still short once the first is gone.
func Next(s Situation) Step {
	for _, c := range s.Due {
		fresh := !s.Reclaimed.Before(s.Ended) && !s.Reclaimed.Before(c.Since) && s.Now.Sub(s.Reclaimed) < reclaimAgain
		switch {
		case s.Ending:
			return Step{Await, c}
		case health.OfDisk(c.Rule.Signal) && s.Reclaiming:
			continue
		case health.OfDisk(c.Rule.Signal) && !fresh:
			return Step{Reclaim, c}
		}
		return Step{Evict, c}
	}
	return Step{Do: Rest}
}

// grace returns the time that a pod has to end. A hard threshold leaves it a second, as in Kubernetes; a soft one its
// own time, up to a maximum that the configuration sets.
func grace(c health.Crossing, pod *node.Pod, most time.Duration) time.Duration {
	if c.Grace == 0 {
		return evictionGrace
	}
	own := node.GracePeriod(pod.Object)
	if most >= 0 {
		own = min(own, most)
	}
	return max(evictionGrace, own)
}

// message says in Kubernetes' words why a pod has to go: what the node lacks, and which containers use more than they
// request.
func message(c health.Crossing, pod Candidate) string {
	of := health.Lacks(c.Rule.Signal)
	var b strings.Builder
	least := c.Rule.Least.Of(*resource.NewQuantity(c.Signal.Capacity, resource.BinarySI))
	fmt.Fprintf(&b, "The node was low on resource: %s. Threshold quantity: %s, available: %s. ", of, &least, health.Amount(of, c.Signal.Left))
	if pod.Use == nil || of != corev1.ResourceMemory && of != corev1.ResourceEphemeralStorage {
		return b.String()
	}
	object := pod.Allocated()
	if request, ok := podRequest(object, of); ok {
		fmt.Fprintf(&b, "Pod %s was using %s, request is %s, has larger consumption of %s. ",
			object.Name, health.Amount(of, pod.Use.Total), &request, of)
	}
	for container := range node.Containers(&object.Spec) {
		request := container.Resources.Requests[of]
		if used := pod.Use.Containers[container.Name]; used > request.Value() {
			fmt.Fprintf(&b, "Container %s was using %s, request is %s, has larger consumption of %s. ",
				container.Name, health.Amount(of, used), &request, of)
		}
	}
	return b.String()
}

// podRequest returns what a pod requests as a whole, besides its containers.
func podRequest(pod *corev1.Pod, of corev1.ResourceName) (request resource.Quantity, ok bool) {
	if !resources.IsPodLevelResourcesSet(pod) {
		return request, false
	}
	request, ok = pod.Spec.Resources.Requests[of]
	return request, ok
}

// attention returns the signal for which a reader is shown the pods that would go: the most urgent that is below a
// threshold, or else memory.
func attention(p health.Pressure) string {
	if len(p.Crossings) > 0 {
		return p.Crossings[0].Rule.Signal
	}
	return health.MemoryAvailable
}

// partsOf returns the files of pods that take the space of a signal's file system. Where images lie apart from the
// node's own files, so do the layers of containers.
func partsOf(signal string, apart bool) node.DiskParts {
	ofNode := signal == health.NodeFsAvailable || signal == health.NodeFsInodesFree
	return node.DiskParts{Files: ofNode || !apart, Layers: !ofNode || !apart}
}
