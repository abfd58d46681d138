package storage

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Keeper decides for one node.
type Keeper struct {
	Name   string                   // of the node
	Labels func() map[string]string // of the node now; nil if it has none
	Dir    string                   // in which the node makes volumes; empty disables that
	NewUID func() types.UID
}

// Book holds all volumes and claims, and the pods that use claims.
type Book struct {
	Volumes []*corev1.PersistentVolume
	Claims  []*corev1.PersistentVolumeClaim
	Pods    []*corev1.Pod // that hold their names
	Waiting []*corev1.Pod // for others to end
}

// Change lists the changes of a Book.
type Change struct {
	Put  []*node.Object
	Drop []node.ObjectRef
}

// Settle returns the changes by which claims, volumes and pods agree.
func (k Keeper) Settle(b Book, now time.Time) Change {
	s := &settlement{
		Keeper: k, now: metav1.NewTime(now.Truncate(time.Second)), pods: b.Pods, used: claimsUsed(b),
		volumes: map[string]*corev1.PersistentVolume{}, claims: map[node.Key]*corev1.PersistentVolumeClaim{},
		changed: map[node.ObjectRef]*node.Object{}, ended: map[types.UID]bool{},
	}
	for _, v := range b.Volumes {
		s.volumes[v.Name] = v
	}
	for _, c := range b.Claims {
		s.claims[keyOf(c)] = c
	}
	s.endClaims()
	s.ownClaims()
	s.releaseVolumes()
	s.bindClaims()
	return s.change()
}

// settlement is one Settle at work.
type settlement struct {
	Keeper
	now     metav1.Time
	pods    []*corev1.Pod
	used    map[node.Key]bool
	volumes map[string]*corev1.PersistentVolume
	claims  map[node.Key]*corev1.PersistentVolumeClaim
	changed map[node.ObjectRef]*node.Object // nil for one that is forgotten
	ended   map[types.UID]bool              // claims that end in this very settlement
}

func keyOf(c *corev1.PersistentVolumeClaim) node.Key {
	return node.Key{Namespace: c.Namespace, Name: c.Name}
}

// endClaims forgets the claims that were deleted, once no pod uses them, and those
// of pods that are gone.
func (s *settlement) endClaims() {
	alive := map[types.UID]bool{}
	for _, pod := range s.pods {
		alive[pod.UID] = true
	}
	for key, c := range s.claims {
		owner := ownerOf(c)
		if owner != "" && !alive[owner] || owner == "" && c.DeletionTimestamp != nil && !s.used[key] {
			delete(s.claims, key)
			s.changed[node.NewObject(c).Ref()], s.ended[c.UID] = nil, true
		}
	}
}

// ownClaims makes the claims of generic ephemeral volumes.
func (s *settlement) ownClaims() {
	for _, pod := range s.pods {
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i]
			name, ok := node.ClaimName(pod, volume)
			if _, there := s.claims[node.Key{Namespace: pod.Namespace, Name: name}]; !ok || there || volume.Ephemeral == nil {
				continue
			}
			s.putClaim(ownedClaim(pod, name, volume.Ephemeral.VolumeClaimTemplate, s.NewUID(), s.now))
		}
	}
}

// releaseVolumes sets the phase of each volume: Bound, Released if its claim is gone, or Available.
// A volume that the node made for deletion with its claim is marked deleted when that claim ends in
// this settlement. A claim that is merely missing may have lost its record, so its files stay.
// A deleted volume that is bound to no claim and has no files to remove is forgotten.
func (s *settlement) releaseVolumes() {
	for _, v := range sorted(s.volumes) {
		bound := s.bound(v)
		next := v.DeepCopy()
		switch {
		case bound:
			next.Status.Phase = corev1.VolumeBound
		case v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID != "":
			next.Status.Phase = corev1.VolumeReleased
			deletes := v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
			if Made(v) && deletes && v.DeletionTimestamp == nil && s.ended[v.Spec.ClaimRef.UID] {
				next.DeletionTimestamp = &s.now
			}
		default:
			next.Status.Phase = corev1.VolumeAvailable
		}
		if next.DeletionTimestamp != nil && !bound && !Doomed(next) {
			delete(s.volumes, v.Name)
			s.changed[node.NewObject(v).Ref()] = nil
		} else if next.Status.Phase != v.Status.Phase || (next.DeletionTimestamp == nil) != (v.DeletionTimestamp == nil) {
			s.putVolume(next)
		}
	}
}

// bound reports whether the claim that a volume was given to still exists.
func (s *settlement) bound(v *corev1.PersistentVolume) bool {
	ref := v.Spec.ClaimRef
	if ref == nil {
		return false
	}
	c := s.claims[node.Key{Namespace: ref.Namespace, Name: ref.Name}]
	return c != nil && c.UID == ref.UID
}

// bindClaims gives each claim a volume, the oldest first.
func (s *settlement) bindClaims() {
	claims := slices.SortedFunc(maps.Values(s.claims), func(a, b *corev1.PersistentVolumeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range claims {
		next := c.DeepCopy()
		switch v := s.volumes[c.Spec.VolumeName]; {
		case v != nil && v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == c.UID:
			s.grow(v, next)
		case c.Status.Phase == corev1.ClaimBound || c.Status.Phase == corev1.ClaimLost:
			next.Status.Phase = corev1.ClaimLost
		case c.DeletionTimestamp == nil:
			s.bind(next)
		}
		if next.Status.Phase != c.Status.Phase || !sameStorage(next, c) {
			s.putClaim(next)
		}
	}
}

func sameStorage(a, b *corev1.PersistentVolumeClaim) bool {
	return a.Status.Capacity.Storage().Cmp(*b.Status.Capacity.Storage()) == 0
}

func (s *settlement) bind(c *corev1.PersistentVolumeClaim) {
	v, _ := s.choose(c, sorted(s.volumes))
	if v == nil && s.makes(c) {
		v = s.madeFor(c)
	}
	if v == nil {
		c.Status.Phase = corev1.ClaimPending
		return
	}
	next := v.DeepCopy()
	next.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: string(node.PersistentVolumeClaim), Namespace: c.Namespace, Name: c.Name, UID: c.UID,
	}
	next.Status.Phase = corev1.VolumeBound
	s.putVolume(next)
	c.Spec.VolumeName = v.Name
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: v.Spec.AccessModes, Capacity: v.Spec.Capacity}
}

// makes reports whether the node makes a volume for a claim. A claim for a certain volume waits
// for that one.
func (k Keeper) makes(c *corev1.PersistentVolumeClaim) bool {
	return k.Dir != "" && own(Class(c)) && c.Spec.VolumeName == "" && c.Spec.Selector == nil && !Block(c.Spec.VolumeMode)
}

// madeFor returns a new volume of the node's own.
func (s *settlement) madeFor(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	name, class, policy := "pvc-"+string(c.UID), cmp.Or(Class(c), LocalClass), corev1.PersistentVolumeReclaimDelete
	if class == LocalRetainClass {
		policy = corev1.PersistentVolumeReclaimRetain
	}
	files := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(node.PersistentVolume)},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: s.NewUID(), CreationTimestamp: s.now, Annotations: map[string]string{annotationMaker: LocalClass},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: request(c), AccessModes: c.Spec.AccessModes, PersistentVolumeReclaimPolicy: policy,
			StorageClassName: class, VolumeMode: &files,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(s.Dir, name)}},
		},
	}
}

// grow enlarges a volume that the node has made when its claim asks for more.
func (s *settlement) grow(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
	wanted := c.Spec.Resources.Requests.Storage()
	if Made(v) && wanted.Cmp(*v.Spec.Capacity.Storage()) > 0 {
		next := v.DeepCopy()
		next.Spec.Capacity = request(c)
		s.putVolume(next)
		c.Status.Capacity = next.Spec.Capacity
	}
}

func (s *settlement) putVolume(v *corev1.PersistentVolume) {
	s.volumes[v.Name] = v
	object := node.NewObject(v)
	s.changed[object.Ref()] = object
}

func (s *settlement) putClaim(c *corev1.PersistentVolumeClaim) {
	s.claims[keyOf(c)] = c
	object := node.NewObject(c)
	s.changed[object.Ref()] = object
}

// change lists the changes, always in the same order.
func (s *settlement) change() Change {
	var change Change
	refs := slices.SortedFunc(maps.Keys(s.changed), func(a, b node.ObjectRef) int { return cmp.Compare(a.String(), b.String()) })
	for _, ref := range refs {
		if object := s.changed[ref]; object == nil {
			change.Drop = append(change.Drop, ref)
		} else {
			change.Put = append(change.Put, object)
		}
	}
	return change
}

func sorted(volumes map[string]*corev1.PersistentVolume) []*corev1.PersistentVolume {
	return slices.SortedFunc(maps.Values(volumes), func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
}
