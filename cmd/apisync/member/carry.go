package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// AnnotationFrom marks what came to the node from a cluster.
const AnnotationFrom = "nodal.node/from"

const theCluster = "cluster"

func fromCluster(object metav1.Object) bool {
	return object.GetAnnotations()[AnnotationFrom] == theCluster
}

// carry does the next step for a pod, if there is one. What it changes comes back
// through a watch, and leads to the step after it.
func (p *pods) carry(ctx context.Context, key types.NamespacedName) error {
	s := p.sides(key)
	p.objects.use(key, s.want)
	todo := next(s)
	switch todo.verb {
	case apply:
		return p.apply(ctx, s)
	case remove:
		return p.remove(ctx, key, s.want, todo)
	case vouch:
		_, err := p.node.SetPodCondition(ctx, &nodev1.SetPodConditionRequest{
			Namespace: key.Namespace, Name: key.Name, Type: string(todo.condition.Type),
			Status: string(todo.condition.Status), Reason: todo.condition.Reason, Message: todo.condition.Message,
		})
		return err
	case report:
		if p.holdBack(key, todo.canWait) {
			return nil
		}
		return p.report(ctx, s.want, &todo.status)
	case forget:
		return p.forget(ctx, key, todo.uid)
	case mirror:
		return p.mirror(ctx, s.have.object)
	}
	if s.want == nil && s.running() == nil {
		p.mu.Lock()
		delete(p.local, key)
		delete(p.applied, key)
		delete(p.notBefore, key)
		p.mu.Unlock()
	}
	return nil
}

// lull is how long a first status waits for the one that makes it needless: most
// pods run by then. Those that follow it wait longer.
const lull = time.Second

// holdBack says whether a pod's status is not to be told yet. The queue brings the
// pod back.
func (p *pods) holdBack(key types.NamespacedName, canWait bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !canWait {
		delete(p.notBefore, key)
		return false
	}
	now := time.Now()
	at, held := p.notBefore[key]
	if !held {
		at = now.Add(lull)
	}
	if !now.Before(at) {
		p.notBefore[key] = now.Add(10 * lull)
		return false
	}
	p.notBefore[key] = at
	p.queue.AddAfter(key, at.Sub(now))
	return true
}

// apply has the node run a pod. One that the node refuses has failed: asking
// again would not help. What was added to the pod is added here too, once it is there.
func (p *pods) apply(ctx context.Context, s sides) error {
	want := s.want
	// Without its class the node would refuse the pod, for good.
	if class := want.Spec.RuntimeClassName; class != nil && !p.objects.has(node.ObjectRef{Kind: node.RuntimeClass, Name: *class}) {
		return fmt.Errorf("RuntimeClass %s is not on the node yet", *class)
	}
	if have := s.running(); have == nil || have.object.UID != want.UID {
		want = want.DeepCopy()
		want.Spec.EphemeralContainers = nil
	}
	text, err := json.Marshal(manifestOf(want))
	if err != nil {
		return err
	}
	_, err = p.node.PutPod(ctx, &nodev1.PutPodRequest{Namespace: want.Namespace, Name: want.Name, Manifest: string(text)})
	switch grpcstatus.Code(err) {
	case codes.OK:
		key := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
		p.mu.Lock()
		p.applied[key] = fingerprint(want)
		p.mu.Unlock()
		// A node that has the pod from an earlier process changes nothing now: its
		// status would not come back through the watch.
		if have := s.running(); have != nil && have.object.UID == want.UID {
			p.queue.Add(key)
		}
		return nil
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.Aborted:
		refused := want.Status.DeepCopy()
		refused.Phase, refused.Reason, refused.Message = corev1.PodFailed, "NodeRefused", "Pod was refused: "+grpcstatus.Convert(err).Message()
		return p.report(ctx, want, refused)
	}
	return fmt.Errorf("give it to the node: %w", err)
}

// remove has the node end a pod. That the cluster does not have it is asked
// once more: a watch that went wrong must not end what runs.
func (p *pods) remove(ctx context.Context, key types.NamespacedName, want *corev1.Pod, todo step) error {
	if want == nil {
		found, err := p.cluster.podOn(ctx, p.nodeName, key)
		if err != nil {
			return fmt.Errorf("ask whether it is gone: %w", err)
		}
		if found != nil && found.UID == todo.uid {
			return fmt.Errorf("the cluster has it, and did not say so")
		}
	}
	_, err := p.node.DeletePod(ctx, &nodev1.DeletePodRequest{
		Namespace: key.Namespace, Name: key.Name, Uid: string(todo.uid), GracePeriodSeconds: todo.grace,
	})
	if code := grpcstatus.Code(err); code == codes.OK || code == codes.NotFound {
		return nil
	}
	return fmt.Errorf("have the node delete it: %w", err)
}

// report gives the cluster a status. If the pod has changed there meanwhile, the
// watch brings the news, and the status is made anew.
func (p *pods) report(ctx context.Context, want *corev1.Pod, status *corev1.PodStatus) error {
	changed, err := p.cluster.putStatus(ctx, want, status)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("report its status: %w", err)
	case !changed:
		return errors.New("the cluster has the status already and shows another")
	}
	return nil
}

// forget has the cluster drop a pod, once the node itself says that nothing of
// it is left.
func (p *pods) forget(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	reply, err := p.node.GetPod(ctx, &nodev1.GetPodRequest{Namespace: key.Namespace, Name: key.Name})
	switch {
	case err == nil && reply.Pod.GetUid() == string(uid):
		return fmt.Errorf("the node has it, and did not say so")
	case err != nil && grpcstatus.Code(err) != codes.NotFound:
		return fmt.Errorf("ask whether the node has it: %w", err)
	}
	if err := p.cluster.forget(ctx, key, uid); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("have the cluster drop it: %w", err)
	}
	return nil
}

// mirror shows the cluster a pod that is not its own. API servers do not show
// pods that use their objects so; such a pod runs unseen.
func (p *pods) mirror(ctx context.Context, object *corev1.Pod) error {
	n, err := p.cluster.node(ctx, p.nodeName)
	if err != nil {
		return fmt.Errorf("read the node that the pod is of: %w", err)
	}
	image := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: object.Name, Labels: object.Labels, Annotations: maps.Clone(object.Annotations),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: n.Name, UID: n.UID, Controller: new(true),
			}},
		},
		Spec: object.Spec,
	}
	if image.Annotations == nil {
		image.Annotations = map[string]string{}
	}
	image.Annotations[corev1.MirrorPodAnnotationKey] = identity(object)
	err = p.cluster.createPod(ctx, image)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		p.log.Warn("the cluster does not show a pod", "pod", object.Namespace+"/"+object.Name, "err", err)
		return nil
	case err != nil && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("show it to the cluster: %w", err)
	}
	return nil
}

// manifestOf is a pod of the cluster as the node is to have it.
func manifestOf(want *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: want.Namespace, Name: want.Name, UID: want.UID, Labels: want.Labels,
			Annotations: map[string]string{AnnotationFrom: theCluster},
		},
		Spec: *want.Spec.DeepCopy(),
	}
	bringTokens(pod)
	bringServices(pod)
	for name, value := range want.Annotations {
		if name != AnnotationFrom {
			pod.Annotations[name] = value
		}
	}
	return pod
}

// fingerprint tells whether the node has a manifest already.
func fingerprint(want *corev1.Pod) string {
	text, err := json.Marshal(manifestOf(want))
	if err != nil {
		return "" // it is refused when it is applied
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
