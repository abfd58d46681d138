package intake

import (
	"nodal/node"
	"nodal/node/manifest"
)

// ephemeral refuses ephemeral containers in a manifest that makes a new pod, and changes of those
// that a pod has.
func ephemeral(d Delivery, current *node.Pod, verdict Verdict) []node.Violation {
	switch {
	case len(d.Pod.Spec.EphemeralContainers) == 0:
		return nil
	case verdict == Created:
		return broken("spec.ephemeralContainers", "Forbidden: may not be set when a pod is created")
	case verdict == Replaced:
		return broken("spec.ephemeralContainers", "Forbidden: may not be set together with a change that replaces the pod")
	}
	return manifest.CheckAdded(current.Object, d.Pod)
}
