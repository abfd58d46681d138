package reconciler

import (
	"context"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// StagedVolumes are the volumes of CSI drivers on the node. Each call may be repeated.
type StagedVolumes interface {
	// Known returns the volumes that were staged, or that a former agent may have left.
	Known() []node.CSIVolume
	// Look shows what is there of a volume.
	Look(ctx context.Context, id node.CSIVolume) (node.Staged, error)
	// Stage has the driver make a volume ready. It leaves one that is.
	Stage(ctx context.Context, volume *corev1.PersistentVolume, group *int64) error
	// Unstage has the driver take a volume away. It refuses one that a pod still has.
	Unstage(ctx context.Context, id node.CSIVolume) error
}

// CSIVolumes are the volumes of CSI drivers, which are staged on the node before pods get them. uses returns the
// volumes that a pod mounts, and the board has the drivers.
func CSIVolumes(
	uses func(*node.Pod) []*corev1.PersistentVolume, board *store.Plugins, volumes StagedVolumes,
) KindOf[node.StagedWish, node.Staged] {
	return KindOf[node.StagedWish, node.Staged]{
		Name: "CSIVolume", OfPods: true, Boards: []Board{board}, Plan: decide.CSIVolume,
		Wanted: func(pods iter.Seq[*node.Pod]) []Wanted[node.StagedWish] {
			return wantedStaged(pods, uses, board, volumes.Known())
		},
		Look: func(ctx context.Context, want node.StagedWish) (node.Staged, error) {
			return volumes.Look(ctx, want.ID)
		},
		Do: func(ctx context.Context, action node.Action) error {
			switch action := action.(type) {
			case node.StageVolume:
				return volumes.Stage(ctx, action.Volume, action.Group)
			case node.UnstageVolume:
				return volumes.Unstage(ctx, action.Volume)
			}
			return fmt.Errorf("%s: CSI volumes have no such action: %w", action, node.ErrUnsupported)
		},
	}
}

// wantedStaged derives the volumes that have to be staged from the pods, and adds those that are there.
func wantedStaged(
	pods iter.Seq[*node.Pod], uses func(*node.Pod) []*corev1.PersistentVolume, board *store.Plugins, known []node.CSIVolume,
) (wanted []Wanted[node.StagedWish]) {
	if len(known) == 0 && !board.Has(node.CSIPlugin) {
		return nil // nothing can be staged: a node without drivers does not look through its pods
	}
	at := map[node.CSIVolume]int{}
	add := func(id node.CSIVolume) *Wanted[node.StagedWish] {
		i, ok := at[id]
		if !ok {
			i = len(wanted)
			driver, _ := board.Driver(id.Driver)
			wish := node.StagedWish{ID: id, Stages: driver.Info.Driver.Can(node.StagesVolumes)}
			at[id], wanted = i, append(wanted, Wanted[node.StagedWish]{Name: id.Driver + "/" + id.Handle, Want: wish})
		}
		return &wanted[i]
	}
	for _, id := range known {
		add(id)
	}
	for pod := range pods {
		for _, volume := range uses(pod) {
			id, ok := node.CSIVolumeOf(volume)
			if !ok {
				continue
			}
			w := add(id)
			if w.Want.Volume == nil {
				w.Want.Volume, w.Want.Group = volume, node.FSGroup(pod.Object)
			}
			w.Users = append(w.Users, pod.Key())
		}
	}
	return wanted
}

// VolumesOf returns the question which PersistentVolumes a pod mounts. A pod that has finished mounts none any more.
func VolumesOf(s *store.Store) func(*node.Pod) []*corev1.PersistentVolume {
	return func(pod *node.Pod) (volumes []*corev1.PersistentVolume) {
		if finishedIn(s, pod) {
			return nil
		}
		for v := range node.MountedVolumes(&pod.Object.Spec) {
			if volume := boundTo(s, pod, v); volume != nil {
				volumes = append(volumes, volume)
			}
		}
		return volumes
	}
}

// finishedIn reports whether a pod has finished.
func finishedIn(s *store.Store, pod *node.Pod) bool {
	v, ok := s.View(pod.Key())
	return ok && v.Slot.Pod.Object.UID == pod.Object.UID && v.Slot.Result != nil
}

// boundTo returns what the claim of a pod's volume is bound to, or nil.
func boundTo(s *store.Store, pod *node.Pod, v *corev1.Volume) *corev1.PersistentVolume {
	name, ok := node.ClaimName(pod.Object, v)
	if !ok {
		return nil
	}
	claim, ok := s.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: pod.Object.Namespace, Name: name})
	if !ok {
		return nil
	}
	return volumeOf(s, claim.Claim())
}

// volumeOf returns what a claim is bound to, or nil.
func volumeOf(s *store.Store, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	if claim.Status.Phase != corev1.ClaimBound {
		return nil
	}
	volume, ok := s.Object(node.ObjectRef{Kind: node.PersistentVolume, Name: claim.Spec.VolumeName})
	if !ok {
		return nil
	}
	return volume.Volume()
}
