package decide

import "nodal/node"

// GrownVolume has the driver of a volume that has grown told so while a pod has it. A look shows whether one has.
func GrownVolume(in Asset[node.VolumeGrowth, bool]) (p Plan) {
	if in.Want.Able && in.Want.Pod != nil && in.Look {
		in.try(&p, node.ExpandVolume{Growth: in.Want})
	}
	return p
}
