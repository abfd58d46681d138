package sim

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// UnstageUsed unstages a volume that one pod has.
const UnstageUsed Bug = "unstaging a volume that a pod has"

// csiVolumes is the realm of the volumes that pods share and that a CSI driver stages on the node. Each pod uses one.
type csiVolumes struct {
	still
	*world
	faults *faults
	disks  []*lun
}

var _ realm = (*csiVolumes)(nil)

// lun is a volume as the driver and the machine have it. It outlives agents.
type lun struct {
	volume *corev1.PersistentVolume
	node.Staged
}

func newCSIVolumes(w *world, o Options) *csiVolumes {
	v := &csiVolumes{world: w, faults: newFaults(rand.New(rand.NewPCG(o.Seed, 5)), o.Without)}
	for _, name := range []string{"fast", "slow"} {
		v.disks = append(v.disks, &lun{volume: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: name},
			}},
		}})
	}
	return v
}

func (v *csiVolumes) name() string    { return "CSIVolume" }
func (v *csiVolumes) chance() *faults { return v.faults }

// of returns the volume that a pod uses.
func (v *csiVolumes) of(pod node.Key) *lun { return v.disks[len(pod.Name)%len(v.disks)] }

// at returns the volume of a volume.
func (v *csiVolumes) at(id node.CSIVolume) *lun {
	return v.disks[slices.IndexFunc(v.disks, func(d *lun) bool { return d.volume.Name == id.Handle })]
}

func (v *csiVolumes) kind(a *agent) reconciler.Kind {
	board := store.NewPlugins(node.CSIPlugin)
	socket := node.PluginSocket{Name: "disk.sock"}
	board.Found([]node.PluginSocket{socket}, v.clock())
	board.Introduced(socket, node.PluginInfo{
		Type: node.CSIPlugin, Name: "disk", Driver: &node.CSIDriver{Capabilities: []string{node.StagesVolumes}},
	}, v.clock())
	uses := func(pod *node.Pod) []*corev1.PersistentVolume {
		if view, ok := a.store.View(pod.Key()); ok && view.Slot.Result != nil {
			return nil
		}
		return []*corev1.PersistentVolume{v.of(pod.Key()).volume}
	}
	kind := reconciler.CSIVolumes(uses, board, csiDriver{v, a})
	if a.bug == UnstageUsed {
		wanted := kind.Wanted
		kind.Wanted = func(pods iter.Seq[*node.Pod]) []reconciler.Wanted[node.StagedWish] {
			all := wanted(pods)
			for i := range all {
				if len(all[i].Users) == 1 {
					all[i].Users = nil
				}
			}
			return all
		}
	}
	return kind
}

// csiDriver is the adapter of CSI volumes for one agent.
type csiDriver struct {
	*csiVolumes
	agent *agent
}

var _ reconciler.StagedVolumes = csiDriver{}

// Known returns the volumes of which something is there.
func (d csiDriver) Known() (ids []node.CSIVolume) {
	for _, one := range d.disks {
		if id, _ := node.CSIVolumeOf(one.volume); one.There {
			ids = append(ids, id)
		}
	}
	return ids
}

func (d csiDriver) Look(_ context.Context, id node.CSIVolume) (node.Staged, error) {
	return d.at(id).Staged, nil
}

// Stage makes a volume ready. Now and then it stops half way.
func (d csiDriver) Stage(_ context.Context, v *corev1.PersistentVolume, _ *int64) error {
	id, _ := node.CSIVolumeOf(v)
	one := d.at(id)
	one.There = true
	if d.now < strife && d.faults.rand.IntN(10) == 0 {
		d.met.addf("csi: a stage is left in part")
		return refused(node.FailedMount, "volume %s cannot be mounted", v.Name)
	}
	one.Whole = true
	return nil
}

func (d csiDriver) Unstage(_ context.Context, id node.CSIVolume) error {
	d.at(id).Staged = node.Staged{}
	return nil
}

// begins checks that no pod has a volume that is to be unstaged, whether the agent knows of the pod or not.
func (v *csiVolumes) begins(e *errand) {
	unstage, ok := e.action.(node.UnstageVolume)
	if !ok {
		return
	}
	one := v.at(unstage.Volume)
	views, _ := e.agent.store.Views()
	for _, view := range views {
		if v.of(view.Key) == one && view.Slot.Result == nil {
			v.witness.failf("volume %s is unstaged beneath pod %s", one.volume.Name, view.Key)
		}
	}
	for key, l := range v.witness.wanted {
		if v.of(key) == one && len(v.runsOf(l)) > 0 && l.result == "" {
			v.witness.failf("volume %s is unstaged beneath the containers of pod %s", one.volume.Name, key)
		}
	}
}

func (v *csiVolumes) calm() { v.faults.end() }

func (v *csiVolumes) bugs() []planted { return []planted{{UnstageUsed, 0, 50, "is unstaged beneath"}} }

func (v *csiVolumes) situations() []string {
	return append(deaths("StageVolume", "UnstageVolume"),
		"StageVolume fails", "UnstageVolume has no answer", "csi: a stage is left in part")
}

// unsettled returns an error unless the volumes that are staged are those that pods use.
func (v *csiVolumes) unsettled(a *agent) error {
	used := map[*lun]bool{}
	views, _ := a.store.Views()
	for _, view := range views {
		if view.Slot.Result == nil {
			used[v.of(view.Key)] = true
		}
	}
	for _, one := range v.disks {
		if want := (node.Staged{There: used[one], Whole: used[one]}); one.Staged != want {
			return fmt.Errorf("volume %s is %+v, want %+v", one.volume.Name, one.Staged, want)
		}
	}
	return nil
}
