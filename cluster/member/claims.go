package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/cluster/retry"
	"nodal/node"
)

// claimsOf returns the claims that a pod uses, each with the UID of the pod that has to own it; "" for any.
func claimsOf(pod *corev1.Pod) map[node.ObjectRef]types.UID {
	refs := map[node.ObjectRef]types.UID{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name, ok := node.ClaimName(pod, v)
		if !ok {
			continue
		}
		ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: pod.Namespace, Name: name}
		if v.Ephemeral != nil {
			refs[ref] = pod.UID
		} else if _, owned := refs[ref]; !owned {
			refs[ref] = ""
		}
	}
	return refs
}

// bringOwned has a pod mount the claims that the cluster has made for its ephemeral volumes. The node would make claims of
// its own for them, and so it has for a pod that an earlier version has posted: known keeps those.
func bringOwned(pod, known *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil || known != nil && hasOwn(known, v.Name) {
			continue
		}
		name, _ := node.ClaimName(pod, v)
		v.VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
}

func hasOwn(pod *corev1.Pod, volume string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume && v.Ephemeral != nil })
}

// keepClaim brings a claim to the node, with the volume that the cluster has bound it to and once that is attached. Nodes
// may read both but watch neither. Once bound, the two stay together. The volume may grow.
func (o *objects) keepClaim(ctx context.Context, ref node.ObjectRef, owner types.UID) {
	attachment, held := &attachment{}, (*corev1.PersistentVolume)(nil)
	defer o.attachments.unwant(attachment)
	retry.Until(ctx, o.log, ref.String()+": cannot put it on the node yet", retry.Most, func(ctx context.Context) error {
		claim, volume, err := o.cluster.claim(ctx, ref, owner)
		if err == nil {
			o.need(ref, neededFor(volume))
			err = o.markPlaced(ctx, volume)
		}
		if err == nil {
			err = o.attach(ctx, ref, attachment, volume)
		}
		if err == nil {
			held = ungrown(claim, volume)
			err = o.node.put(ctx, held, claim)
		}
		o.note(ctx, ref, err)
		return err
	})
	if held != nil && held.Spec.CSI != nil {
		o.keepSize(ctx, ref, held)
	}
	<-ctx.Done()
}

// claim reads a claim and its volume.
func (c *cluster) claim(ctx context.Context, ref node.ObjectRef, owner types.UID) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := c.core.Get().Namespace(ref.Namespace).Resource("persistentvolumeclaims").Name(ref.Name).Do(ctx).Into(claim); err != nil {
		return nil, nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	}
	if by := metav1.GetControllerOfNoCopy(claim); owner != "" && (by == nil || by.UID != owner) {
		return nil, nil, fmt.Errorf("PVC %s/%s was not created for the pod (pod is not owner)", ref.Namespace, ref.Name)
	}
	if claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound {
		return nil, nil, errors.New("PVC is not bound")
	}
	if err := c.core.Get().Resource("persistentvolumes").Name(claim.Spec.VolumeName).Do(ctx).Into(volume); err != nil {
		return nil, nil, fmt.Errorf("read PersistentVolume %s: %w", claim.Spec.VolumeName, err)
	}
	if by := volume.Spec.ClaimRef; by == nil || by.Namespace != ref.Namespace || by.Name != ref.Name || by.UID != claim.UID {
		return nil, nil, fmt.Errorf("PersistentVolume %s is not bound to the claim", volume.Name)
	}
	return claim, volume, nil
}

// need records the objects that are needed for the volume of a claim. The pods of the claim use them from then on.
func (o *objects) need(ref node.ObjectRef, needs []node.ObjectRef) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if u := o.used[ref]; u != nil {
		u.needs = needs
	}
}

// neededFor returns what the node needs to have the driver of a volume bring it: the CSIDriver object, and Secrets.
func neededFor(v *corev1.PersistentVolume) (refs []node.ObjectRef) {
	if v.Spec.CSI == nil {
		return nil
	}
	refs = append(refs, node.ObjectRef{Kind: node.CSIDriverObject, Name: v.Spec.CSI.Driver})
	for _, secret := range []*corev1.SecretReference{
		v.Spec.CSI.NodeStageSecretRef, v.Spec.CSI.NodePublishSecretRef, v.Spec.CSI.NodeExpandSecretRef,
	} {
		if secret != nil {
			refs = append(refs, node.ObjectRef{Kind: node.Secret, Namespace: secret.Namespace, Name: secret.Name})
		}
	}
	return refs
}

// dropClaim removes a claim together with its volume: nothing else would remove the volume. The data belongs to the
// cluster, and stays.
func (s *shelf) dropClaim(ctx context.Context, since int64, ref node.ObjectRef, claim *structpb.Struct) error {
	spec, _ := claim.AsMap()["spec"].(map[string]any)
	name, _ := spec["volumeName"].(string)
	if name == "" {
		return s.remove(ctx, since, ref)
	}
	volume := node.ObjectRef{Kind: node.PersistentVolume, Name: name}
	found, err := s.brought(ctx, volume)
	switch {
	case errors.Is(err, errForeign) || err == nil && found == nil:
		return s.remove(ctx, since, ref)
	case err != nil:
		return err
	}
	return s.remove(ctx, since, ref, volume)
}

// fitVolume has the node keep a volume of the cluster for its claim alone. It drops the claim's UID: the node gives
// the claim another one. It drops what only controllers use, too.
func fitVolume(v *corev1.PersistentVolume, from node.Value) {
	setPlaced(&v.ObjectMeta, node.Placed(from))
	if text, marked := from.GetAnnotations()[node.AnnotationAttached]; marked {
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, node.AnnotationAttached, text)
	}
	v.Spec.VolumeAttributesClassName = nil
	if source := v.Spec.CSI; source != nil {
		source.ControllerPublishSecretRef, source.ControllerExpandSecretRef = nil, nil
	}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	if ref := v.Spec.ClaimRef; ref != nil {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
	}
	v.Status = corev1.PersistentVolumeStatus{}
}

// fitClaim has a claim ask for the volume that it has in the cluster, and for nothing else.
func fitClaim(c *corev1.PersistentVolumeClaim) {
	c.Spec.Selector, c.Spec.DataSource, c.Spec.DataSourceRef, c.Spec.VolumeAttributesClassName = nil, nil, nil, nil
	c.Status = corev1.PersistentVolumeClaimStatus{}
}
