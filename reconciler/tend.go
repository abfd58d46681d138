package reconciler

import (
	"context"
	"fmt"

	"nodal/node"
	"nodal/node/store"
)

// Plugins talks to the plugins in the registry. A definite failure is a *node.Failure. Each call may be repeated.
type Plugins interface {
	// Ask connects to a plugin and has it say who it is.
	Ask(ctx context.Context, socket node.PluginSocket) error
	// Answer tells a plugin whether it is registered.
	Answer(ctx context.Context, socket node.PluginSocket, answer node.PluginAnswer) error
	// Forget lets go of a plugin.
	Forget(socket node.PluginSocket)
	// Known returns what is known of a plugin.
	Known(socket node.PluginSocket) node.Plugin
}

// Tend performs one action on an asset. Its errors mean the same as those of Do.
func (a Act) Tend(ctx context.Context, action node.Action) error {
	switch action := action.(type) {
	case node.RemoveFiles:
		return failedDelete(a.Volumes.Reclaim(ctx, action.Volume))
	case node.ForgetVolume:
		return failedDelete(a.forgetVolume(action))
	case node.AskPlugin:
		return a.Plugins.Ask(ctx, action.Socket)
	case node.AnswerPlugin:
		return a.Plugins.Answer(ctx, action.Socket, action.Answer)
	case node.ForgetPlugin:
		a.Plugins.Forget(action.Socket)
		return nil
	}
	return fmt.Errorf("%s: assets have no such action: %w", action, node.ErrUnsupported)
}

// Find looks at an asset.
func (a Act) Find(ctx context.Context, asset node.Asset) (look node.AssetLook, err error) {
	if asset.Key.Kind == node.RegisteredPlugin {
		return node.AssetLook{Plugin: a.Plugins.Known(asset.Plugin.Socket)}, nil
	}
	look.There, err = a.Volumes.Left(ctx, asset.Volume)
	return look, failedDelete(err)
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
