package decide

import "k8s.io/apimachinery/pkg/types"

// strays clears what another pod left under this name. A name, with its
// addresses and log paths, is used again only when nothing of the old is left.
func strays(p *Plan, v *View) bool {
	stranger := func(uid types.UID) bool { return uid != v.pod.UID() }
	if v.stopAll(p, stranger, nil) || v.stopSandboxesOf(p, stranger) || v.removeAll(p, stranger) {
		p.why("another pod of this name is still being removed")
		return true
	}
	return false
}
