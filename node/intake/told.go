package intake

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// told returns a slot that knows of its runs what the cluster was told last, if that is news. Another kubelet may have
// probed them since this one did: a pod that is ready must not be shown as unready until its next probe, nor the other
// way round.
func told(slot *node.Slot, status *corev1.PodStatus) (*node.Slot, bool) {
	if status == nil {
		return slot, false
	}
	var changed time.Time
	for _, c := range status.Conditions {
		if c.Type == corev1.ContainersReady {
			changed = c.LastTransitionTime.Time
		}
	}
	next := *slot
	next.Health = maps.Clone(slot.Health)
	news := false
	for _, s := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		_, id, _ := strings.Cut(s.ContainerID, "://")
		if id == "" || s.State.Running == nil {
			continue
		}
		known := next.Health[s.Name]
		if known.ID != id {
			known = node.Health{ID: id}
		}
		if now := known.Told(&s, changed); now != known {
			if next.Health == nil {
				next.Health = map[string]node.Health{}
			}
			next.Health[s.Name], news = now, true
		}
	}
	return &next, news
}
