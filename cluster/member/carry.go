package member

import (
	"cmp"
	"context"
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
	"nodal/cluster/retry"
)

// nodeRefused is the reason of a pod that failed because the node refused it.
const nodeRefused = "NodeRefused"

// carry takes the next step for a pod, if there is one. Its effect comes back through a watch, and leads to the step
// after it.
func (p *pods) carry(ctx context.Context, key types.NamespacedName) error {
	s := p.sides(key)
	p.objects.use(ctx, key, s.want)
	todo := next(s)
	switch todo.verb {
	case apply:
		return p.apply(ctx, s)
	case remove:
		return p.remove(ctx, key, s.want, todo)
	case vouch:
		return p.vouch(ctx, s, todo.condition)
	case report:
		if p.holdBack(key, todo.canWait || p.learns(key)) {
			return nil
		}
		return p.report(ctx, s.want, &todo.status)
	case forget:
		had := s.have != nil && s.have.object.UID == s.want.UID
		if !had && !p.isSettled() {
			return errors.New("the node may still run it: it has not heard all its sources since its start")
		}
		return p.forget(ctx, key, s.want)
	case mirror:
		return p.mirror(ctx, s.have.object)
	}
	if s.want == nil && s.running() == nil {
		p.mu.Lock()
		delete(p.entries, key)
		p.mu.Unlock()
	}
	return nil
}

// statusDelay delays the first status of a pod that starts: most pods run a moment later, and only that status is
// sent. Later statuses that can wait are delayed for ten times as long.
const statusDelay = time.Second

// learns reports whether the node got a pod's status just now, and may still show how the pod was before that.
func (p *pods) learns(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.entry(key).learns)
}

// holdBack reports whether a pod's status has to wait. The queue brings the pod back.
func (p *pods) holdBack(key types.NamespacedName, canWait bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(key)
	if !canWait {
		e.notBefore = time.Time{}
		return false
	}
	now := time.Now()
	if e.notBefore.IsZero() {
		e.notBefore = now.Add(statusDelay)
	}
	if !now.Before(e.notBefore) {
		e.notBefore = now.Add(10 * statusDelay)
		return false
	}
	p.queue.AddAfter(key, e.notBefore.Sub(now))
	return true
}

// apply posts a pod, or its changed manifest, to the node. Ephemeral containers follow once the pod is there. apply
// never replaces a pod that came to the node in another way, even one that the node has yet to report.
func (p *pods) apply(ctx context.Context, s sides) error {
	want := s.want
	there := s.running() != nil && s.have.object.UID == want.UID
	lacks := p.objects.lacking(want)
	switch unread := errors.Is(lacks, errUnread); {
	case unread && (!there || s.applied != ""): // what an earlier process has posted is not held up
		return nil // the objects call for the pod
	case lacks != nil && !unread && !there:
		return cmp.Or(p.explain(ctx, want, s.have, lacks), lacks)
	}
	var known *corev1.Pod
	if there {
		known = s.have.object
	} else {
		if err := p.subnets.before(ctx, want); err != nil {
			return err
		}
		want = want.DeepCopy()
		want.Spec.EphemeralContainers = nil
	}
	manifest := manifestOf(want, known)
	if err := errors.Join(p.markPlaced(ctx, manifest, known), p.bringClaims(ctx, manifest, want, known)); err != nil {
		return cmp.Or(p.explain(ctx, want, s.have, err), err)
	}
	if s.running() == nil { // there is no record that may be outdated
		p.noteDelivered(types.NamespacedName{Namespace: want.Namespace, Name: want.Name}, want.UID)
	}
	if s.applied == "" { // another kubelet may have run it until now
		manifest.Status = *want.Status.DeepCopy()
	}
	err := p.put(ctx, manifest, s.running() == nil)
	why := grpcstatus.Convert(err).Message()
	switch {
	case err != nil && !retry.Hopeless(err):
		return fmt.Errorf("post the pod to the node: %w", err)
	case err != nil && !there:
		status := refusal(want, why)
		return p.report(ctx, want, &status)
	case err != nil: // the pod runs on as it was
		p.warn(ctx, want, nodeRefused, "A change of the pod was refused: "+why)
	}
	key := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
	p.mu.Lock()
	e := p.entry(key)
	if e.applied == "" && want.Status.StartTime != nil { // another kubelet has had it
		e.learns = time.Now().Add(statusDelay)
	}
	e.applied, e.waits = fingerprint(want), nil
	p.mu.Unlock()
	p.noteDelivered(key, want.UID)
	// A node that got the pod from an earlier process changes nothing now, so its watch would be silent.
	if there {
		p.queue.Add(key)
	}
	return nil
}

// put posts a manifest to the node. A pod that is new must not replace another one.
func (p *pods) put(ctx context.Context, manifest *corev1.Pod, isNew bool) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	request := &nodev1.PutPodRequest{Namespace: manifest.Namespace, Name: manifest.Name, Manifest: string(text)}
	if isNew {
		request.UnchangedSince = new(int64)
	}
	_, err = p.node.PutPod(ctx, request)
	return err
}

// vouch posts a condition to the node. A condition that the node refuses delays no status.
func (p *pods) vouch(ctx context.Context, s sides, c corev1.PodCondition) error {
	_, err := p.node.SetPodCondition(ctx, &nodev1.SetPodConditionRequest{
		Namespace: s.want.Namespace, Name: s.want.Name, Type: string(c.Type), Status: string(c.Status),
		Reason: c.Reason, Message: c.Message,
	})
	if todo := s.reporting(); retry.Hopeless(err) && todo.verb == report {
		err = errors.Join(err, p.report(ctx, s.want, &todo.status))
	}
	return err
}

// remove has the node end a pod. It first asks the cluster whether the pod is gone: a faulty watch must not end a
// pod that runs.
func (p *pods) remove(ctx context.Context, key types.NamespacedName, want *corev1.Pod, todo step) error {
	if want == nil {
		found, err := p.cluster.podOn(ctx, p.nodeName, key)
		if err != nil {
			return fmt.Errorf("ask the cluster whether the pod is gone: %w", err)
		}
		if found != nil && found.UID == todo.uid {
			return errors.New("the cluster still has the pod, but its watch did not show it")
		}
	}
	_, err := p.node.DeletePod(ctx, &nodev1.DeletePodRequest{
		Namespace: key.Namespace, Name: key.Name, Uid: string(todo.uid), GracePeriodSeconds: todo.grace,
	})
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return fmt.Errorf("delete the pod from the node: %w", err)
	}
	if todo.grace != nil {
		p.mu.Lock()
		p.entry(key).asked = &asked{todo.uid, *todo.grace}
		p.mu.Unlock()
	}
	return nil
}

// forget deletes a pod from the cluster once nothing of it is left on the node. A pod that never ran gets a final
// phase first: a Job keeps its pods until they have one.
func (p *pods) forget(ctx context.Context, key types.NamespacedName, want *corev1.Pod) error {
	reply, err := p.node.GetPod(ctx, &nodev1.GetPodRequest{Namespace: key.Namespace, Name: key.Name})
	switch {
	case err == nil && reply.Pod.GetUid() == string(want.UID):
		return errors.New("the node still has the pod, but its watch did not show it")
	case err != nil && grpcstatus.Code(err) != codes.NotFound:
		return fmt.Errorf("ask the node whether it has the pod: %w", err)
	}
	if mirrored(want) == "" && !finished(want) {
		status := *want.Status.DeepCopy()
		end(&status, want)
		if err := p.report(ctx, want, &status); !rejected(err) {
			return err
		}
	}
	if err := p.cluster.forget(ctx, key, want.UID); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the pod from the cluster: %w", err)
	}
	return nil
}

// mirrorRetry is the pause after which a mirror that the cluster refused is posted again.
const mirrorRetry = time.Minute

// mirror shows the cluster a pod that is not its own. API servers refuse mirrors of pods that use objects such as
// Secrets: such a pod runs without a mirror. Another obstacle, such as a priority that a young cluster does not know
// yet, may be gone later.
func (p *pods) mirror(ctx context.Context, object *corev1.Pod) error {
	n, err := p.cluster.node(ctx, p.nodeName)
	if err != nil {
		return fmt.Errorf("read the node of the pod: %w", err)
	}
	image := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: object.Name, Labels: object.Labels,
			Annotations: maps.Clone(object.Annotations),
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
		p.queue.AddAfter(types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, mirrorRetry)
		return nil
	case err != nil && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("post the mirror to the cluster: %w", err)
	}
	return nil
}
