package decide

import (
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// strays removes what another pod left under this name. The name, with its addresses and log paths, is used again only
// when nothing of the old pod is left.
func strays(p *Plan, v *View) bool {
	stranger := func(uid types.UID) bool { return !v.own(uid) }
	end := func(run *node.Container) { v.end(p, run, run.Grace, "its pod is not wanted") }
	if v.stopAll(p, stranger, end) || v.stopSandboxesOf(p, stranger) || v.removeAll(p, stranger) {
		p.why("another pod of this name is still being removed")
		return true
	}
	return false
}
