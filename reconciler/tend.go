package reconciler

import (
	"context"
	"fmt"

	"nodal/node"
	"nodal/node/store"
)

// Tend performs one action on an asset. Its errors mean the same as those of Do.
func (a Act) Tend(ctx context.Context, action node.Action) error {
	switch action := action.(type) {
	case node.RemoveFiles:
		return failedDelete(a.Volumes.Reclaim(ctx, action.Volume))
	case node.ForgetVolume:
		return failedDelete(a.forgetVolume(action))
	}
	return fmt.Errorf("%s: assets have no such action: %w", action, node.ErrUnsupported)
}

// Find reports whether something of an asset is on the machine.
func (a Act) Find(ctx context.Context, asset node.Asset) (there bool, err error) {
	there, err = a.Volumes.Left(ctx, asset.Volume)
	return there, failedDelete(err)
}

// failedDelete wraps an error with Kubernetes' reason for volumes that cannot be deleted.
func failedDelete(err error) error {
	if err == nil {
		return nil
	}
	return &node.Failure{Reason: node.VolumeFailedDelete, Err: err}
}

// forgetVolume drops the record of a volume, but keeps that of a later volume of the same name.
func (a Act) forgetVolume(action node.ForgetVolume) error {
	_, err := a.Store.Transact(func(tx *store.Tx) error {
		ref := node.NewObject(action.Volume).Ref()
		if held := tx.Object(ref); held != nil && held.Volume().UID == action.Volume.UID {
			tx.Reserved()
			tx.DropObject(ref)
		}
		return nil
	})
	return err
}
