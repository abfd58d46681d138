package reconciler

import (
	"context"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// VolumeFiles are the files of the volumes that the node has made for claims.
type VolumeFiles interface {
	// Left reports whether files are left of a volume.
	Left(ctx context.Context, volume *corev1.PersistentVolume) (bool, error)
	// Reclaim removes them.
	Reclaim(ctx context.Context, volume *corev1.PersistentVolume) error
}

// ReleasedVolumes are the PersistentVolumes that the node has made and now removes, because their claims were deleted.
// A look shows whether files are left.
func ReleasedVolumes(s *store.Store, files VolumeFiles) KindOf[*corev1.PersistentVolume, bool] {
	return KindOf[*corev1.PersistentVolume, bool]{
		Name: "ReleasedVolume",
		Plan: decide.ReleasedVolume,
		Wanted: func(pods iter.Seq[*node.Pod]) (wanted []Wanted[*corev1.PersistentVolume]) {
			volumes, _ := s.Objects(node.PersistentVolume)
			for _, o := range volumes {
				if v := o.Volume(); storage.Doomed(v) {
					wanted = append(wanted, Wanted[*corev1.PersistentVolume]{string(v.UID), usersOf(s, v, pods), v})
				}
			}
			return wanted
		},
		Look: func(ctx context.Context, v *corev1.PersistentVolume) (bool, error) {
			left, err := files.Left(ctx, v)
			return left, failedDelete(err)
		},
		Do: func(ctx context.Context, action node.Action) error {
			switch action := action.(type) {
			case node.RemoveFiles:
				return failedDelete(files.Reclaim(ctx, action.Volume))
			case node.ForgetVolume:
				return failedDelete(forgetVolume(s, action.Volume))
			}
			return fmt.Errorf("%s: released volumes have no such action: %w", action, node.ErrUnsupported)
		},
		Leaves: func(node.Action) (left, certain bool) { return false, true },
	}
}

// usersOf returns the pods that use the claim to which a volume was given. A later claim of the same name does not
// count.
func usersOf(s *store.Store, v *corev1.PersistentVolume, pods iter.Seq[*node.Pod]) (users []node.Key) {
	of := v.Spec.ClaimRef
	if of == nil {
		return nil
	}
	held, ok := s.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: of.Namespace, Name: of.Name})
	if !ok || held.Claim().UID != of.UID {
		return nil
	}
	for pod := range pods {
		uses := func(v corev1.Volume) bool {
			name, ok := node.ClaimName(pod.Object, &v)
			return ok && name == of.Name && pod.Object.Namespace == of.Namespace
		}
		if slices.ContainsFunc(pod.Object.Spec.Volumes, uses) {
			users = append(users, pod.Key())
		}
	}
	return users
}

// failedDelete wraps an error with Kubernetes' reason for volumes that cannot be deleted.
func failedDelete(err error) error {
	if err == nil {
		return nil
	}
	return &node.Failure{Reason: node.VolumeFailedDelete, Err: err}
}

// forgetVolume drops the record of a volume, but keeps that of a later volume of the same name.
func forgetVolume(s *store.Store, v *corev1.PersistentVolume) error {
	_, err := s.Transact(func(tx *store.Tx) error {
		ref := node.NewObject(v).Ref()
		if held := tx.Object(ref); held != nil && held.Volume().UID == v.UID {
			tx.Reserved()
			tx.DropObject(ref)
		}
		return nil
	})
	return err
}
