package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/reconciler/evict"
)

// scratchLimit returns how much a pod may write into its scratch volume.
func scratchLimit() *resource.Quantity { return resource.NewQuantity(1<<20, resource.BinarySI) }

// disk measures what pods write: within their limits, unless a pod has gorged.
type disk struct{ world *world }

var _ evict.Disk = disk{}

// Written returns the sizes of a pod's volumes: too much in each, if the pod has gorged.
func (d disk) Written(_ context.Context, pod *node.Pod, volumes []string, _ bool) (node.Written, error) {
	written := node.Written{Volumes: map[string]int64{}}
	for _, name := range volumes {
		written.Volumes[name] = scratchLimit().Value()
		if d.world.gorged[pod.UID()] {
			written.Volumes[name]++
		}
	}
	return written, nil
}

// gorgeOne makes a pod with a limit write more than it may.
func (s *simulation) gorgeOne() {
	running := s.bounded()
	if len(running) == 0 {
		return
	}
	l := anyOf(s, running)
	s.trace.addf("world: pod %s writes more than it may", l.key)
	s.gorged[l.id.uid] = true
}

// bounded returns the pods with a limit that have a running container to write.
func (s *simulation) bounded() []*life {
	var running []*life
	for _, key := range sortedKeys(s.witness.wanted) {
		l := s.witness.wanted[key]
		volumes, _ := evict.Bound(l.object)
		c := s.newest(l, "a")
		if len(volumes) > 0 && l.result == "" && c != nil && c.running() {
			running = append(running, l)
		}
	}
	return running
}

// measure evicts pods that have written too much, again and again.
func (a *agent) measure() {
	if a.dead {
		return
	}
	a.evictor.Round(context.Background())
	a.turn()
	a.world.after(evict.MeasureEvery, a.measure)
}
