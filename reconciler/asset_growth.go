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

// GrowingVolumes are the volumes of CSI drivers that pods have.
type GrowingVolumes interface {
	// Has reports whether a pod has a volume.
	Has(ctx context.Context, id node.CSIVolume) (bool, error)
	// Expand has the driver make the rest of a volume's capacity usable. It may be repeated. It fails with ErrNotFound if no
	// pod has the volume.
	Expand(ctx context.Context, volume *corev1.PersistentVolume) error
}

// Growths are the volumes of which claims know less than their capacity.
type Growths interface {
	// Grown returns them, for pods that have yet to be named.
	Grown() []node.VolumeGrowth
	// Uses reports whether a pod mounts the volume of a claim.
	Uses(pod *node.Pod, claim *corev1.PersistentVolumeClaim) bool
	// Tell tells the claim of one that its volume has grown.
	Tell(node.VolumeGrowth) error
}

// GrownVolumes are the volumes of CSI drivers that have grown, and whose drivers have to make the growth usable on the node.
// They are no part of the steps of pods: a pod that runs is not harmed if one fails. The claim is the only record: until it
// has the volume's capacity, the driver is asked again.
func GrownVolumes(growths Growths, volumes GrowingVolumes, boards ...Board) KindOf[node.VolumeGrowth, bool] {
	return KindOf[node.VolumeGrowth, bool]{
		Name: "GrownVolume", OfPods: true, Boards: boards, Plan: decide.GrownVolume,
		Wanted: func(pods iter.Seq[*node.Pod]) []Wanted[node.VolumeGrowth] { return wantedGrowths(growths, pods) },
		Look: func(ctx context.Context, want node.VolumeGrowth) (bool, error) {
			id, _ := node.CSIVolumeOf(want.Volume)
			return volumes.Has(ctx, id)
		},
		Do: func(ctx context.Context, action node.Action) error {
			switch action := action.(type) {
			case node.ExpandVolume:
				if err := volumes.Expand(ctx, action.Growth.Volume); err != nil {
					return err
				}
				return growths.Tell(action.Growth)
			}
			return fmt.Errorf("%s: grown volumes have no such action: %w", action, node.ErrUnsupported)
		},
		Leaves: func(node.Action) (has, certain bool) { return true, true },
	}
}

// wantedGrowths names the pods that use the volumes that have grown. A node without such volumes does not look through its pods.
func wantedGrowths(growths Growths, pods iter.Seq[*node.Pod]) (wanted []Wanted[node.VolumeGrowth]) {
	for _, g := range growths.Grown() {
		id, _ := node.CSIVolumeOf(g.Volume)
		w := Wanted[node.VolumeGrowth]{Name: id.Driver + "/" + id.Handle, Want: g}
		for pod := range pods {
			if !growths.Uses(pod, g.Claim) {
				continue
			}
			if w.Want.Pod == nil {
				w.Want.Pod = pod
			}
			w.Users = append(w.Users, pod.Key())
		}
		wanted = append(wanted, w)
	}
	return wanted
}

// GrowthsIn returns the growths among the objects of a store. The board has the drivers. It is for one goroutine.
func GrowthsIn(s *store.Store, board *store.Plugins) Growths {
	return &growths{store: s, board: board, read: -1}
}

// growths looks through the objects only after a change of one.
type growths struct {
	store *store.Store
	board *store.Plugins
	all   []node.VolumeGrowth
	read  int64
}

// Grown returns the volumes that have grown, with what their drivers can do now.
func (g *growths) Grown() []node.VolumeGrowth {
	if changed := g.store.ObjectsChanged(); changed != g.read {
		g.read, g.all = changed, g.look()
	}
	all := make([]node.VolumeGrowth, len(g.all))
	for i, growth := range g.all {
		driver, _ := g.board.Driver(growth.Volume.Spec.CSI.Driver)
		growth.Able = driver.Info.Driver.Can(node.GrowsVolumes)
		all[i] = growth
	}
	return all
}

// look compares each claim with the volume that it is bound to.
func (g *growths) look() (all []node.VolumeGrowth) {
	claims, _ := g.store.Objects(node.PersistentVolumeClaim)
	for _, o := range claims {
		claim := o.Claim()
		volume := volumeOf(g.store, claim)
		if volume == nil || volume.Spec.CSI == nil {
			continue
		}
		if volume.Spec.Capacity.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			all = append(all, node.VolumeGrowth{Volume: volume, Claim: claim})
		}
	}
	return all
}

// Uses reports whether a pod mounts the volume of a claim. A pod that has finished mounts none any more.
func (g *growths) Uses(pod *node.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if pod.Object.Namespace != claim.Namespace || finishedIn(g.store, pod) {
		return false
	}
	for v := range node.MountedVolumes(&pod.Object.Spec) {
		if name, ok := node.ClaimName(pod.Object, v); ok && name == claim.Name {
			return true
		}
	}
	return false
}

// Tell writes the capacity of a volume into the status of its claim, unless another claim has the name by now.
func (g *growths) Tell(growth node.VolumeGrowth) error {
	_, err := g.store.Transact(func(tx *store.Tx) error {
		held := tx.Object(node.NewObject(growth.Claim).Ref())
		size := growth.Size()
		if held == nil || held.Claim().UID != growth.Claim.UID || held.Claim().Status.Capacity.Storage().Cmp(size) >= 0 {
			return nil
		}
		told := held.Clone()
		status := &told.Claim().Status
		if status.Capacity == nil {
			status.Capacity = corev1.ResourceList{}
		}
		status.Capacity[corev1.ResourceStorage] = size
		tx.PutObject(told)
		return nil
	})
	return err
}
