package server

import (
	"context"
	"fmt"
	"slices"

	"nodal/node"
	"nodal/node/policy"
)

// imageNames guards the names of images: the caller that imports an image under a name decides what runs in the pods
// that use that name, from their next start on.
type imageNames struct {
	state  State
	images Images
}

// mayImport returns an error that wraps node.ErrDenied if the name belongs to a pod that the caller could not have
// posted, or to an image that the runtime itself uses in all pods.
func (n imageNames) mayImport(ctx context.Context, reference string) error {
	rules, by := n.state.Intake.Policy, poster(ctx)
	views, _ := n.state.Store.Views()
	for _, view := range views {
		if err := rules.Name(reference, view.Slot.Pod.Object, by); err != nil {
			return err
		}
	}
	if rules.Free(by) {
		return nil
	}
	images, err := n.images.List(ctx)
	if err != nil {
		return fmt.Errorf("look who uses the name %s: %w", reference, err)
	}
	for _, image := range images {
		same := func(own string) bool { return policy.SameImage(own, reference) }
		if image.Pinned && slices.ContainsFunc(image.References, same) {
			return fmt.Errorf("image %s belongs to the runtime, which uses it in all pods; an admin may import it: %w",
				reference, node.ErrDenied)
		}
	}
	return nil
}
