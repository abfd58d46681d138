package stats

import (
	"slices"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

const (
	reach   = 15 * time.Minute // back in time
	spacing = 10 * time.Second // at least, between two usages that are kept
)

// requested holds the usage of containers, by pod and container. Only requests fill it;
// the collector reads nothing on its own.
type requested map[string]map[string][]node.Usage

// add keeps a summary that was read now, and drops what is old.
func (h requested) add(summary *statsapi.Summary, now time.Time) {
	for uid, containers := range h {
		for name, usages := range containers {
			first := slices.IndexFunc(usages, func(u node.Usage) bool { return now.Sub(u.At) <= reach })
			if first < 0 {
				delete(containers, name)
			} else {
				containers[name] = slices.Delete(usages, 0, first)
			}
		}
		if len(containers) == 0 {
			delete(h, uid)
		}
	}
	for _, p := range summary.Pods {
		for _, c := range p.Containers {
			if c.CPU == nil || c.CPU.UsageCoreNanoSeconds == nil || c.Memory == nil {
				continue
			}
			if h[p.PodRef.UID] == nil {
				h[p.PodRef.UID] = map[string][]node.Usage{}
			}
			kept := h[p.PodRef.UID][c.Name]
			if len(kept) == 0 || now.Sub(kept[len(kept)-1].At) >= spacing {
				h[p.PodRef.UID][c.Name] = append(kept, usageOf(c, now))
			}
		}
	}
}

func usageOf(c statsapi.ContainerStats, now time.Time) node.Usage {
	u := node.Usage{At: now, CPU: time.Duration(*c.CPU.UsageCoreNanoSeconds), Cores: -1}
	if cores := c.CPU.UsageNanoCores; cores != nil {
		u.Cores = float64(*cores) / 1e9
	}
	if all := c.Memory.UsageBytes; all != nil {
		u.Memory = *all
	}
	if working := c.Memory.WorkingSetBytes; working != nil {
		u.WorkingSet = *working
	}
	return u
}

// rate computes the processors in use, where the source has no rate, from the time
// spent since the earlier figures. It computes none over a long time.
func rate(before, now *statsapi.CPUStats) {
	if before == nil || now == nil || now.UsageNanoCores != nil || before.UsageCoreNanoSeconds == nil || now.UsageCoreNanoSeconds == nil {
		return
	}
	since := now.Time.Sub(before.Time.Time)
	if since <= 0 || since > stale || *now.UsageCoreNanoSeconds < *before.UsageCoreNanoSeconds {
		return
	}
	spent := *now.UsageCoreNanoSeconds - *before.UsageCoreNanoSeconds
	now.UsageNanoCores = new(uint64(float64(spent) / since.Seconds()))
}

const stale = 2 * time.Minute

// rates fills in how many processors each part of a summary uses.
func rates(before, now *statsapi.Summary) {
	if before == nil {
		return
	}
	rate(before.Node.CPU, now.Node.CPU)
	for _, c := range now.Node.SystemContainers {
		k := slices.IndexFunc(before.Node.SystemContainers, func(w statsapi.ContainerStats) bool { return w.Name == c.Name })
		if k >= 0 {
			rate(before.Node.SystemContainers[k].CPU, c.CPU)
		}
	}
	old := make(map[string]*statsapi.PodStats, len(before.Pods))
	for i := range before.Pods {
		old[before.Pods[i].PodRef.UID] = &before.Pods[i]
	}
	for i := range now.Pods {
		pod := &now.Pods[i]
		was := old[pod.PodRef.UID]
		if was == nil {
			continue
		}
		rate(was.CPU, pod.CPU)
		for _, c := range pod.Containers {
			k := slices.IndexFunc(was.Containers, func(w statsapi.ContainerStats) bool { return w.Name == c.Name && w.StartTime.Equal(&c.StartTime) })
			if k >= 0 {
				rate(was.Containers[k].CPU, c.CPU)
			}
		}
	}
}
