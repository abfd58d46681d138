package sim

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/storage"
)

// cabinet holds the files of claims, by path. It outlives pods and agents.
type cabinet struct {
	files map[string]types.UID // the owning claim of each path
	had   map[types.UID]string // the first path of each claim's files
	ended map[types.UID]bool   // claims that a client deleted
}

func newCabinet() cabinet {
	return cabinet{files: map[string]types.UID{}, had: map[types.UID]string{}, ended: map[types.UID]bool{}}
}

// keeper returns the keeper that binds claims. It makes a directory for each.
func (w *world) keeper() storage.Keeper {
	return storage.Keeper{Name: "sim", Dir: "/local", NewUID: func() types.UID {
		w.uids++
		return types.UID(fmt.Sprintf("k%d", w.uids))
	}}
}

var errUnbound = errors.New("the claim is not bound")

// claimed returns the volume that a claim is bound to.
func (v volumes) claimed(ref node.ObjectRef) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	object, ok := v.store.Object(ref)
	if !ok || object.Claim().Status.Phase != corev1.ClaimBound {
		return nil, nil, errUnbound
	}
	bound, ok := v.store.Object(node.ObjectRef{Kind: node.PersistentVolume, Name: object.Claim().Spec.VolumeName})
	if !ok {
		return nil, nil, fmt.Errorf("%s is bound to a volume that does not exist", ref)
	}
	return object.Claim(), bound.Volume(), nil
}

// open creates the files of a claim for its first pod, and checks that later pods find them.
func (v volumes) open(ref node.ObjectRef, there bool) error {
	c, volume, err := v.claimed(ref)
	switch {
	case err != nil:
		return err
	case c.DeletionTimestamp != nil && !there:
		return errors.New("the claim is being deleted")
	}
	v.world.witness.opens(&v.world.cabinet, c, volume)
	v.world.cabinet.files[volume.Spec.Local.Path] = c.UID
	v.world.cabinet.had[c.UID] = volume.Spec.Local.Path
	return nil
}

// Left reports whether files of a claim remain.
func (v volumes) Left(_ context.Context, volume *corev1.PersistentVolume) (bool, error) {
	_, there := v.world.cabinet.files[volume.Spec.Local.Path]
	return there, nil
}

// Reclaim removes the files of a deleted claim.
func (v volumes) Reclaim(_ context.Context, volume *corev1.PersistentVolume) error {
	v.world.witness.givesBack(v.world, volume)
	delete(v.world.cabinet.files, volume.Spec.Local.Path)
	return nil
}

func (a *agent) doomed() []*corev1.PersistentVolume {
	var doomed []*corev1.PersistentVolume
	all, _ := a.store.Objects(node.PersistentVolume)
	for _, o := range all {
		if storage.Doomed(o.Volume()) {
			doomed = append(doomed, o.Volume())
		}
	}
	return doomed
}

// data names the claim that pods share.
func data() node.ObjectRef {
	return node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
}

// claiming gives a pod a claim: the shared one, or one of its own.
func (c *clients) claiming(pod *corev1.Pod) {
	v := corev1.Volume{Name: "claimed"}
	if c.pick(2) == 0 {
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: data().Name}
	} else {
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec()}}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	mount := corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name}
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, mount)
}

func claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// claim posts the claim that pods share.
func (c *clients) claim(a *agent) {
	object := node.NewObject(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: data().Namespace, Name: data().Name}, Spec: claimSpec(),
	})
	_, revision, err := c.intake(a, node.SourceAPI).Apply([]intake.Delivery{{Object: object}}, c.world.clock())
	c.world.trace.addf("client: post %s: at %d, %v", data(), revision, err)
}

// unclaim deletes the shared claim. It goes once no pod uses it.
func (c *clients) unclaim(a *agent) {
	if held, ok := a.store.Object(data()); ok {
		c.world.cabinet.ended[held.Claim().UID] = true
	}
	err := c.intake(a, node.SourceAPI).DeleteObject(data(), c.world.clock())
	c.world.trace.addf("client: delete %s: %v", data(), err)
}

// letGo deletes the pods that wait for a claim under deletion, or hold it. Without that, the
// deletion would never end.
func (c *clients) letGo(a *agent) {
	held, ok := a.store.Object(data())
	if !ok || held.Claim().DeletionTimestamp == nil {
		return
	}
	for _, name := range apiNames() {
		if view, ok := a.store.View(node.Key{Namespace: "default", Name: name}); ok && storage.Uses(heirOf(view.Slot).Object) {
			c.remove(a, view.Key)
		}
	}
}

// opens checks that a claim finds its own files where they were, and no others.
func (wi *witness) opens(has *cabinet, c *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
	path := volume.Spec.Local.Path
	owner, there := has.files[path]
	had, before := has.had[c.UID]
	switch {
	case there && owner != c.UID:
		wi.failf("claim %s finds the files of %s at %s", c.UID, owner, path)
	case before && had != path:
		wi.failf("claim %s had its files at %s and finds %s", c.UID, had, path)
	case before && !there:
		wi.failf("the files of claim %s are gone", c.UID)
	}
}

// givesBack checks that files are removed only for claims that a client deleted or that went with
// their pods, and never beneath a running container.
func (wi *witness) givesBack(w *world, volume *corev1.PersistentVolume) {
	ref := volume.Spec.ClaimRef
	if ref.Name == data().Name && !w.cabinet.ended[ref.UID] {
		wi.failf("the files of claim %s are removed, and no client has deleted it", ref.UID)
	}
	for _, c := range w.containers {
		if c.running() && w.volumes[c.uid]["claimed"] == volume.Name {
			wi.failf("the files of %s are removed while %s runs", volume.Name, c)
		}
	}
}

// claims returns an error if claims or their files are not as promised.
func (w *world) claims(a *agent) error {
	if len(a.doomed()) > 0 {
		return errors.New("volumes are still being given back")
	}
	wanted := map[types.UID]bool{}
	all, _ := a.store.Objects(node.PersistentVolumeClaim)
	for _, o := range all {
		wanted[o.Claim().UID] = true
		if o.Claim().DeletionTimestamp != nil && o.Claim().Name == data().Name {
			return errors.New("a claim that was deleted is still there")
		}
	}
	for path, uid := range w.cabinet.files {
		if !wanted[uid] {
			return fmt.Errorf("the files of claim %s are left over at %s", uid, path)
		}
	}
	return nil
}
