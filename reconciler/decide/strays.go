package decide

import (
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// strays removes what another pod left under this name. The name, with its addresses and log paths, is used again only
// when nothing of the old pod is left. A pod that is wanted itself stays, and this one has to go: it takes over.
func strays(p *Plan, v *View) bool {
	stranger := func(uid types.UID) bool { return !v.own(uid) && !v.follows(uid) }
	end := func(run *node.Container) { v.end(p, run, run.Grace, "its pod is not wanted") }
	if v.stopAll(p, stranger, end) || v.stopSandboxesOf(p, stranger) || v.removeAll(p, stranger) {
		p.why("another pod of this name is still being removed")
		return true
	}
	if v.pod.Deletion == nil && v.followed() {
		p.why("another pod of this name runs, and its source wants it")
		return true
	}
	return false
}

// follows reports whether a pod takes over this one's name.
func (v *View) follows(uid types.UID) bool {
	return v.slot.Next != nil && v.slot.Next.UID() == uid || v.wanted != nil && v.wanted(uid, v.got.Runs(uid))
}

// followed reports whether something of the pod that takes over is there already.
func (v *View) followed() bool {
	for i := range v.got.Sandboxes {
		if uid := v.got.Sandboxes[i].UID; !v.own(uid) && v.follows(uid) {
			return true
		}
	}
	for i := range v.got.Containers {
		if uid := v.got.Containers[i].UID; !v.own(uid) && v.follows(uid) {
			return true
		}
	}
	return false
}

// unheard waits with a cluster's pod of which nothing is there until the cluster was heard. The pod may have ended under
// another kubelet, and may run on another node by now.
func unheard(p *Plan, v *View) bool {
	if v.unheard && v.pod.WantedBy() == node.SourceCluster && v.got.Empty() && len(v.got.Lost) == 0 {
		p.why("the cluster has not said yet whether it still wants the pod")
		return true
	}
	return false
}
