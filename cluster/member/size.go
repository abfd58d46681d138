package member

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"nodal/cluster/retry"
	"nodal/node"
)

const (
	sizeEvery   = time.Minute // between two looks whether a volume has grown, as upstream's kubelet looks
	growthEvery = time.Second // between two looks at the node, which has just heard of a growth
)

// ungrown returns a volume with the size that its claim knows of. The node gets the rest once it is due.
func ungrown(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) *corev1.PersistentVolume {
	has := claim.Status.Capacity.Storage()
	if has.IsZero() || has.Cmp(*volume.Spec.Capacity.Storage()) >= 0 {
		return volume
	}
	return sized(volume, *has)
}

// sized returns a volume with another size.
func sized(v *corev1.PersistentVolume, size resource.Quantity) *corev1.PersistentVolume {
	other := v.DeepCopy()
	other.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
	return other
}

// growthOf returns the size that a volume has to have on this node, if it has to grow there. The cluster's controller has
// seen to all but the node's part. A volume of many nodes has to grow on each, whichever has told the claim.
func growthOf(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) (size resource.Quantity, due bool) {
	has, whole := claim.Status.Capacity.Storage(), volume.Spec.Capacity.Storage()
	asked, controlled := claim.Status.AllocatedResources[corev1.ResourceStorage]
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		size = asked
	case "":
		if size = *whole; has.Cmp(size) >= 0 {
			return size, slices.Contains(volume.Spec.AccessModes, corev1.ReadWriteMany)
		}
		if controlled { // by a controller that says when the node's part is due
			return size, false
		}
	default:
		return size, false
	}
	return size, !has.IsZero() && size.Cmp(*has) > 0
}

// keepSize looks now and then whether the volume of a claim has grown, until the context ends: nodes may not watch it. held is
// the volume as the node has it.
func (o *objects) keepSize(ctx context.Context, ref node.ObjectRef, held *corev1.PersistentVolume) {
	for ctx.Err() == nil {
		retry.Until(ctx, o.log, ref.String()+": cannot see yet whether its volume has grown", retry.Most, func(ctx context.Context) (err error) {
			held, err = o.carrySize(ctx, ref, held)
			return err
		})
		pause(ctx, wait.Jitter(sizeEvery, 0.1))
	}
}

// pause waits for some time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// carrySize has the node make it usable that a volume has grown, and tells the cluster once the node has. It returns the volume
// as the node has it from then on.
func (o *objects) carrySize(
	ctx context.Context, ref node.ObjectRef, held *corev1.PersistentVolume,
) (*corev1.PersistentVolume, error) {
	claim, volume, err := o.cluster.claim(ctx, ref, "")
	if err != nil {
		return held, err
	}
	size, due := growthOf(claim, volume)
	if !due {
		return held, nil
	}
	patience := time.Duration(0) // what has failed, or has no pod, is for a later look
	if size.Cmp(*held.Spec.Capacity.Storage()) > 0 {
		grown := sized(held, size)
		if err := o.node.put(ctx, grown); err != nil {
			return held, err
		}
		held, patience = grown, sizeEvery
	}
	done, err := o.node.awaitSize(ctx, ref, size, patience)
	if err != nil || !done || claim.Status.Capacity.Storage().Cmp(size) >= 0 {
		return held, err
	}
	return held, o.cluster.noteSize(ctx, claim, size)
}

// awaitSize reports whether the node says that a claim has a size, now or within some time.
func (s *shelf) awaitSize(ctx context.Context, ref node.ObjectRef, size resource.Quantity, within time.Duration) (bool, error) {
	for began := time.Now(); ; pause(ctx, growthEvery) {
		claim, err := s.find(ctx, ref)
		if err != nil {
			return false, fmt.Errorf("read %s of the node: %w", ref, err)
		}
		if has := sizeIn(claim); has.Cmp(size) >= 0 {
			return true, nil
		}
		if time.Since(began) >= within || ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// sizeIn returns the size that the status of a claim shows; zero if it shows none.
func sizeIn(claim *structpb.Struct) resource.Quantity {
	status, _ := claim.AsMap()["status"].(map[string]any)
	capacity, _ := status["capacity"].(map[string]any)
	text, _ := capacity[string(corev1.ResourceStorage)].(string)
	size, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return size
}

// resizing are the conditions of a claim whose volume is about to grow.
var resizing = []corev1.PersistentVolumeClaimConditionType{
	corev1.PersistentVolumeClaimFileSystemResizePending, corev1.PersistentVolumeClaimResizing,
	corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
}

// noteSize says in the status of a claim that its volume has grown, unless the claim has changed since it was read.
func (c *cluster) noteSize(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity) error {
	status := map[string]any{
		"capacity":                  map[string]any{string(corev1.ResourceStorage): size.String()},
		"allocatedResourceStatuses": map[string]any{string(corev1.ResourceStorage): nil},
	}
	var over []map[string]any
	for _, condition := range claim.Status.Conditions {
		if slices.Contains(resizing, condition.Type) {
			over = append(over, map[string]any{"$patch": "delete", "type": condition.Type})
		}
	}
	if len(over) > 0 {
		status["conditions"] = over
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "status": status})
	if err != nil {
		return err
	}
	request := c.core.Patch(types.StrategicMergePatchType).Namespace(claim.Namespace).Resource("persistentvolumeclaims").Name(claim.Name)
	if err := request.SubResource("status").Body(body).Do(ctx).Error(); err != nil {
		return fmt.Errorf("tell claim %s/%s that its volume has grown: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}
