package decide

import (
	"time"

	"nodal/node"
)

// AssetInput is all that the plan for an asset depends on.
type AssetInput struct {
	Asset node.Asset
	Got   *node.AssetState
	Now   time.Time
}

// Asset plans the next actions for an asset.
func Asset(in AssetInput) Plan {
	var p Plan
	switch in.Asset.Key.Kind {
	case node.ReleasedVolume:
		releasedVolume(&p, in)
	case node.RegisteredPlugin:
		registeredPlugin(&p, in)
	}
	return p
}

// releasedVolume removes the files of a volume, and its record only when they are gone.
func releasedVolume(p *Plan, in AssetInput) {
	switch {
	case len(in.Asset.Users) > 0:
		p.why("waiting for the end of the pods that use it")
	case in.Got.There:
		p.attempt(in.Got.Faults, in.Now, node.RemoveFiles{Volume: in.Asset.Volume})
	default:
		p.attempt(in.Got.Faults, in.Now, node.ForgetVolume{Volume: in.Asset.Volume})
	}
}
