package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
)

// annotationGeneration is the cluster's generation of a pod on the node.
const annotationGeneration = "nodal.node/generation"

// nodeRefused is the reason of a pod that failed because the node refused it.
const nodeRefused = "NodeRefused"

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
		return p.vouch(ctx, s, todo.condition)
	case report:
		if p.holdBack(key, todo.canWait) {
			return nil
		}
		return p.report(ctx, s.want, &todo.status)
	case forget:
		return p.forget(ctx, key, s.want)
	case mirror:
		return p.mirror(ctx, s.have.object)
	}
	if s.want == nil && s.running() == nil {
		p.mu.Lock()
		delete(p.local, key)
		delete(p.applied, key)
		delete(p.asked, key)
		delete(p.notBefore, key)
		p.mu.Unlock()
	}
	return nil
}

// lull delays a first status: most pods run a moment later, and that status replaces
// it. Later statuses that can wait are delayed for longer.
const lull = time.Second

// holdBack reports whether a pod's status has to wait. The queue brings the pod back.
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

// apply posts a pod, or its changed manifest, to the node. It adds what was added to the
// pod once that is there. It never replaces a pod that came to the node in another way,
// even if the node has yet to report it.
func (p *pods) apply(ctx context.Context, s sides) error {
	want := s.want
	there := s.running() != nil && s.have.object.UID == want.UID
	var known *corev1.Pod
	if there {
		known = s.have.object
	} else {
		if err := p.objects.lacking(want); err != nil {
			p.explain(ctx, want, err)
			return err
		}
		want = want.DeepCopy()
		want.Spec.EphemeralContainers = nil
	}
	manifest := manifestOf(want)
	if err := p.place(ctx, manifest, known); err != nil {
		return err
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	request := &nodev1.PutPodRequest{Namespace: want.Namespace, Name: want.Name, Manifest: string(text)}
	if s.running() == nil {
		request.UnchangedSince = new(int64)
	}
	_, err = p.node.PutPod(ctx, request)
	why := grpcstatus.Convert(err).Message()
	switch {
	case err != nil && !retry.Hopeless(err):
		return fmt.Errorf("give it to the node: %w", err)
	case err != nil && !there:
		status := refusal(want, why)
		return p.report(ctx, want, &status)
	case err != nil: // it runs on as it is
		p.warn(ctx, want, nodeRefused, "A change of the pod was refused: "+why)
	}
	key := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
	p.mu.Lock()
	p.applied[key] = fingerprint(want)
	p.mu.Unlock()
	// A node that has the pod from an earlier process changes nothing now: its
	// status would not come back through the watch.
	if there {
		p.queue.Add(key)
	}
	return nil
}

// patient is the number of tries after which an event says why a pod waits.
const patient = 4

// explain says once why a pod does not go to the node. Most pods go a moment later.
func (p *pods) explain(ctx context.Context, want *corev1.Pod, why error) {
	if p.queue.NumRequeues(types.NamespacedName{Namespace: want.Namespace, Name: want.Name}) == patient {
		p.warn(ctx, want, "FailedCreatePodSandBox", "The pod waits: "+why.Error())
	}
}

// vouch posts a condition to the node. A condition that the node refuses delays no status.
func (p *pods) vouch(ctx context.Context, s sides, c corev1.PodCondition) error {
	_, err := p.node.SetPodCondition(ctx, &nodev1.SetPodConditionRequest{
		Namespace: s.want.Namespace, Name: s.want.Name, Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message,
	})
	if todo := s.reporting(); retry.Hopeless(err) && todo.verb == report {
		err = errors.Join(err, p.report(ctx, s.want, &todo.status))
	}
	return err
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
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return fmt.Errorf("have the node delete it: %w", err)
	}
	if todo.grace != nil {
		p.mu.Lock()
		p.asked[key] = asked{todo.uid, *todo.grace}
		p.mu.Unlock()
	}
	return nil
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

// forget drops a pod from the cluster once the node says that nothing of it is left. A
// pod that never ran is given an end first: a Job waits for that and keeps the pod until
// then.
func (p *pods) forget(ctx context.Context, key types.NamespacedName, want *corev1.Pod) error {
	reply, err := p.node.GetPod(ctx, &nodev1.GetPodRequest{Namespace: key.Namespace, Name: key.Name})
	switch {
	case err == nil && reply.Pod.GetUid() == string(want.UID):
		return fmt.Errorf("the node has it, and did not say so")
	case err != nil && grpcstatus.Code(err) != codes.NotFound:
		return fmt.Errorf("ask whether the node has it: %w", err)
	}
	if mirrored(want) == "" && !finished(want) {
		status := *want.Status.DeepCopy()
		end(&status, want)
		if err := p.report(ctx, want, &status); !rejected(err) {
			return err
		}
	}
	if err := p.cluster.forget(ctx, key, want.UID); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("have the cluster drop it: %w", err)
	}
	return nil
}

// unseen hides a pod that asked not to be shown for this long.
const unseen = time.Minute

// mirror shows the cluster a pod that is not its own. API servers do not show
// pods that use their objects so; such a pod runs unseen. What else stood in the way,
// such as a priority that a young cluster does not know yet, may be gone later.
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
		Spec: *object.Spec.DeepCopy(),
	}
	// A cluster refuses numbers that are not those of its own classes.
	image.Spec.Priority, image.Spec.PreemptionPolicy = nil, nil
	if image.Annotations == nil {
		image.Annotations = map[string]string{}
	}
	image.Annotations[corev1.MirrorPodAnnotationKey] = identity(object)
	err = p.cluster.createPod(ctx, image)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		p.log.Warn("cannot mirror a pod to the cluster", "pod", object.Namespace+"/"+object.Name, "err", err)
		p.queue.AddAfter(types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, unseen)
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
			Annotations: maps.Clone(want.Annotations),
		},
		Spec: *want.Spec.DeepCopy(),
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, node.AnnotationFrom, node.Cluster)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotationGeneration, strconv.FormatInt(want.Generation, 10))
	bringTokens(pod)
	bringServices(pod)
	return pod
}

// fingerprint identifies a manifest, so that the node is not sent the same one twice.
func fingerprint(want *corev1.Pod) string {
	text, err := json.Marshal(manifestOf(want))
	if err != nil {
		return "" // it is refused when it is applied
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
