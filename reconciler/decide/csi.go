package decide

import "nodal/node"

// CSIVolume has a volume staged once for all pods that use it, and unstaged after the last one. Nothing is taken away
// before every source of pods has delivered: a pod that is not known yet may use it.
func CSIVolume(in Asset[node.StagedWish, node.Staged]) (p Plan) {
	switch used := len(in.Users) > 0; {
	case used && in.Want.Stages && !in.Look.Whole:
		in.try(&p, node.StageVolume{Volume: in.Want.Volume, Group: in.Want.Group})
	case !used && in.Sure && in.Look.There:
		in.try(&p, node.UnstageVolume{Volume: in.Want.ID})
	}
	return p
}
