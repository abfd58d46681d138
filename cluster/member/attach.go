package member

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// attachEvery is the time between two looks at a volume that has yet to be attached.
const attachEvery = time.Second

// attachments tells the cluster which attached volumes the node uses, and knows whether a volume is attached. A volume is
// listed as in use before any pod gets it, and until nothing of it is left on the node. Until then the cluster's controller
// does not detach it.
type attachments struct {
	nodeName string
	cluster  *cluster
	news     chan struct{} // holds a value while there is a volume of which the cluster was not told

	mu     sync.Mutex
	wanted map[*attachment]bool

	listed []corev1.UniqueVolumeName // that the cluster has; nil before it was read
}

// attachment is the volume of a claim that pods of the cluster use.
type attachment struct{ name corev1.UniqueVolumeName }

func newAttachments(nodeName string, c *cluster) *attachments {
	return &attachments{nodeName: nodeName, cluster: c, news: make(chan struct{}, 1), wanted: map[*attachment]bool{}}
}

// want has a volume listed as in use.
func (a *attachments) want(v *attachment, name corev1.UniqueVolumeName) {
	a.mu.Lock()
	v.name = name
	a.wanted[v] = true
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// unwant says that pods of the cluster no longer use a volume. It stays listed while the node has it.
func (a *attachments) unwant(v *attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, v)
}

// names returns the volumes that pods of the cluster use.
func (a *attachments) names() (names []corev1.UniqueVolumeName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for v := range a.wanted {
		names = append(names, v.name)
	}
	return names
}

// report lists the volumes that are in use in the Node object. wanted was read before held: a pod that the cluster no longer
// wants is on the node already. again has the Node object read even if nothing has changed here.
func (a *attachments) report(ctx context.Context, wanted []corev1.UniqueVolumeName, held []*nodev1.CSIVolume, again bool) error {
	if a.listed != nil && !(again && len(a.listed) > 0) && slices.Equal(inUse(a.listed, wanted, held), a.listed) {
		return nil
	}
	n, err := a.cluster.node(ctx, a.nodeName)
	if err != nil {
		return fmt.Errorf("read which volumes Node %s has in use: %w", a.nodeName, err)
	}
	next := inUse(slices.Concat(a.listed, n.Status.VolumesInUse), wanted, held)
	if !slices.Equal(next, n.Status.VolumesInUse) {
		change := map[string]any{"status": map[string]any{"volumesInUse": next}}
		if err := a.cluster.patchNode(ctx, a.nodeName, change, "status"); err != nil {
			return fmt.Errorf("list the volumes that Node %s has in use: %w", a.nodeName, err)
		}
	}
	a.listed = next
	return nil
}

// inUse returns the volumes to list: those that pods of the cluster use, and those of the listed ones that are still on the
// node. Other volumes on the node need not be attached.
func inUse(listed, wanted []corev1.UniqueVolumeName, held []*nodev1.CSIVolume) []corev1.UniqueVolumeName {
	used := append([]corev1.UniqueVolumeName{}, wanted...)
	for _, v := range held {
		if name := uniqueName(v.GetDriver(), v.GetHandle()); slices.Contains(listed, name) {
			used = append(used, name)
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// uniqueName returns Kubernetes' name for a volume of a CSI driver.
func uniqueName(driver, handle string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^" + handle)
}

// attach waits until a volume is attached to the node, if its driver has volumes attached, and marks it with what the driver
// has to be told of that. Meanwhile the pods of the claim are told what they wait for.
func (o *objects) attach(ctx context.Context, claim node.ObjectRef, a *attachment, v *corev1.PersistentVolume) error {
	delete(v.Annotations, node.AnnotationAttached)
	source := v.Spec.CSI
	if source == nil {
		return nil
	}
	driver, err := o.cluster.termsOf(ctx, source.Driver)
	if err != nil {
		return err
	}
	if driver.AttachRequired != nil && !*driver.AttachRequired {
		return markAttached(v, nil)
	}
	o.attachments.want(a, uniqueName(source.Driver, source.VolumeHandle))
	for {
		told, err := o.attachments.look(ctx, source)
		if err == nil {
			return markAttached(v, told)
		}
		o.note(ctx, claim, &notAttached{v.Name, err})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(attachEvery):
		}
	}
}

// termsOf returns what a CSIDriver object says of its driver. Without one, all is as by default.
func (c *cluster) termsOf(ctx context.Context, driver string) (storagev1.CSIDriverSpec, error) {
	found, err := c.csiDriver(ctx, driver)
	switch {
	case apierrors.IsNotFound(err):
		return storagev1.CSIDriverSpec{}, nil
	case err != nil:
		return storagev1.CSIDriverSpec{}, fmt.Errorf("read CSIDriver %s: %w", driver, err)
	}
	return found.Spec, nil
}

// markAttached marks a volume that is attached, with what its driver has to be told of that.
func markAttached(v *corev1.PersistentVolume, told map[string]string) error {
	if told == nil {
		told = map[string]string{}
	}
	text, err := json.Marshal(told)
	metav1.SetMetaDataAnnotation(&v.ObjectMeta, node.AnnotationAttached, string(text))
	return err
}

// notAttached is the reason why a volume is not attached yet, in Kubernetes' words.
type notAttached struct {
	volume string
	cause  error
}

func (n *notAttached) Error() string {
	return fmt.Sprintf("MountVolume.WaitForAttach failed for volume %q : %v", n.volume, n.cause)
}

// look returns what the driver of a volume has to be told once it is attached, and before that the reason why it is not.
// The Node object has to agree with the VolumeAttachment: a controller that is about to detach the volume changes the Node
// object first, unless that lists the volume as in use.
func (a *attachments) look(ctx context.Context, source *corev1.CSIPersistentVolumeSource) (map[string]string, error) {
	name := uniqueName(source.Driver, source.VolumeHandle)
	n, err := a.cluster.node(ctx, a.nodeName)
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", a.nodeName, err)
	}
	if !slices.Contains(n.Status.VolumesInUse, name) {
		return nil, errors.New("volume has not been added to the list of VolumesInUse in the node's volume status")
	}
	digest := sha256.Sum256([]byte(source.VolumeHandle + source.Driver + a.nodeName))
	id := fmt.Sprintf("csi-%x", digest)
	found, err := a.cluster.attachment(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read VolumeAttachment %s: %v", id, err)
	}
	if err := unattached(found); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(n.Status.VolumesAttached, func(v corev1.AttachedVolume) bool { return v.Name == name }) {
		return nil, errors.New("volume not attached according to node status")
	}
	return found.Status.AttachmentMetadata, nil
}

// unattached returns why a VolumeAttachment is not one of an attached volume, or nil.
func unattached(a *storagev1.VolumeAttachment) error {
	switch fault := a.Status.AttachError; {
	case a.DeletionTimestamp != nil:
		return errors.New("volume attachment is being deleted")
	case a.Status.Attached:
		return nil
	case fault != nil:
		return errors.New(fault.Message)
	}
	return fmt.Errorf("waiting for external-attacher of %s to attach it", a.Spec.Attacher)
}
