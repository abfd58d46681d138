package image

import (
	"context"
	"errors"
	"fmt"

	"nodal/node"
)

// Fetch pulls an image that a caller asks for and no pod: with the credentials of the node, and from the registry even if
// a copy is here. It joins a pull of pods that is the same. Without a caller the pull ends, unless pods wait for it.
func (p *Puller) Fetch(ctx context.Context, name string) (node.LocalImage, error) {
	ref, err := node.NormalReference(name)
	if err != nil {
		return node.LocalImage{}, err
	}
	keys := p.keyring(ctx, ref).For(ref)
	o := order{ref: ref, as: fingerprintOf(keys)}
	got, err := p.flights.do(ctx, o, node.PullWaiter{}, func(ctx context.Context) (node.LocalImage, error) {
		return p.pullRecorded(ctx, ref, keys)
	})
	var failure *node.Failure
	switch {
	case err == nil:
		p.rests.over(o) // pods need not wait for their next try
		return got.image, nil
	case errors.As(err, &failure):
		return node.LocalImage{}, fmt.Errorf("%s: %w: %w", failure.Reason, err, node.ErrConflict)
	}
	return node.LocalImage{}, err
}
