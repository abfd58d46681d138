package stats

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// PodMemory returns the working sets of pods and their containers as of now, by the pods' UIDs. Pods that run are
// missing from it if they could not be measured; the error says why.
func (c *Collector) PodMemory(ctx context.Context) (map[types.UID]node.PodUse, error) {
	found, all := c.groups()
	use := map[types.UID]node.PodUse{}
	counts := make([]node.PodUse, len(found))
	read := make([]bool, len(found))
	each(len(found), func(r *reader, i int) { counts[i], read[i] = podMemory(r, &found[i]) })
	for i := range found {
		if read[i] {
			use[found[i].pod.UID()] = counts[i]
		}
	}
	if all {
		return use, nil
	}
	return use, c.addRuntimeMemory(ctx, use)
}

func podMemory(r *reader, of *podGroups) (use node.PodUse, read bool) {
	whole := of.whole.usage(r)
	if whole == nil {
		return use, false
	}
	use = node.PodUse{Total: int64(whole.Memory.WorkingSet), Containers: map[string]int64{}}
	for i := range of.runs {
		if counts := of.runs[i].usage(r); counts != nil {
			use.Containers[of.runs[i].run.Name] = int64(counts.Memory.WorkingSet)
		}
	}
	return use, true
}

// addRuntimeMemory adds the pods that have no cgroup here.
func (c *Collector) addRuntimeMemory(ctx context.Context, use map[types.UID]node.PodUse) error {
	fill, err := c.runtimePods(ctx)
	if err != nil {
		return fmt.Errorf("measure pods that the runtime counts for: %w", err)
	}
	var asked collection
	fill(&asked)
	for i := range asked.Pods {
		pod := &asked.Pods[i]
		if _, known := use[types.UID(pod.PodRef.UID)]; known || pod.Memory == nil || pod.Memory.WorkingSetBytes == nil {
			continue
		}
		of := node.PodUse{Total: int64(*pod.Memory.WorkingSetBytes), Containers: map[string]int64{}}
		for k := range pod.Containers {
			if memory := pod.Containers[k].Memory; memory != nil && memory.WorkingSetBytes != nil {
				of.Containers[pod.Containers[k].Name] = int64(*memory.WorkingSetBytes)
			}
		}
		use[types.UID(pod.PodRef.UID)] = of
	}
	return nil
}

// PodTasks returns how many processes and threads the pods have that have cgroups here, by UID.
func (c *Collector) PodTasks() map[types.UID]node.PodUse {
	found, _ := c.groups()
	counts := make([]uint64, len(found))
	each(len(found), func(r *reader, i int) { counts[i] = number(found[i].whole.more(r, "pids", "pids.current")) })
	use := map[types.UID]node.PodUse{}
	for i := range found {
		if counts[i] > 0 {
			use[found[i].pod.UID()] = node.PodUse{Total: int64(counts[i])}
		}
	}
	return use
}
