package agent

import (
	"slices"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// csiVolumes returns the question which volumes of CSI drivers pods use, or are on the machine. It asks the pods first:
// a volume that they give up meanwhile is still on the machine.
func csiVolumes(s *store.Store, held func() []node.CSIVolume) func() []node.CSIVolume {
	uses := reconciler.VolumesOf(s)
	return func() (all []node.CSIVolume) {
		volumes, _ := s.Objects(node.PersistentVolume)
		if slices.ContainsFunc(volumes, func(o *node.Object) bool { return o.Volume().Spec.CSI != nil }) {
			views, _ := s.Views()
			for _, v := range views {
				for _, volume := range uses(v.Slot.Pod) {
					if id, ok := node.CSIVolumeOf(volume); ok {
						all = append(all, id)
					}
				}
			}
		}
		all = append(all, held()...)
		slices.SortFunc(all, node.CSIVolume.Compare)
		return slices.Compact(all)
	}
}
