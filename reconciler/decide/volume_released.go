package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// ReleasedVolume removes the files of a volume whose claim was deleted, and its record only when they are gone. A look
// shows whether files are left.
func ReleasedVolume(in Asset[*corev1.PersistentVolume, bool]) (p Plan) {
	switch {
	case len(in.Users) > 0:
		p.why("waiting for the end of the pods that use it")
	case in.Look:
		in.try(&p, node.RemoveFiles{Volume: in.Want})
	default:
		in.try(&p, node.ForgetVolume{Volume: in.Want})
	}
	return p
}
