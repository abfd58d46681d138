package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
	"nodal/node/status"
)

// errUnread means that the cluster has yet to say whether it has what a pod uses.
var errUnread = errors.New("it is not known yet what the cluster has of the pod's objects")

// absent returns the error for an object that the cluster does not have, in Kubernetes' words.
func absent(ref node.ObjectRef) error {
	kind, _ := node.KindNamed(string(ref.Kind))
	resource := schema.GroupResource{Group: kind.GroupVersionKind().Group, Resource: strings.ToLower(string(ref.Kind))}
	return apierrors.NewNotFound(resource, ref.Name)
}

// lasts reports whether an object is away for a reason that waiting does not change. The pod goes to the node then,
// which knows whether the pod can do without it.
func lasts(wrong error) bool {
	return apierrors.IsNotFound(wrong) || errors.Is(wrong, errForeign) || retry.Hopeless(wrong)
}

// lacking fails for a pod that has to wait before it goes to the node. The error is errUnread while an object of the
// pod may be on its way. It is a Failure for an object without which the pod must not go: without its runtime class
// the node would refuse the pod for good, without its claim it might use a claim of the node's own of that name,
// and without its token it would complain of a Secret that no user knows.
func (o *objects) lacking(want *corev1.Pod) error {
	tokens, waits := tokensOf(want), error(nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	uses := o.uses(want)
	maps.Copy(tokens, o.driverTokens(want, uses))
	using := slices.Collect(maps.Keys(uses))
	slices.SortFunc(using, func(a, b node.ObjectRef) int { return strings.Compare(a.String(), b.String()) })
	for _, ref := range using {
		_, needed := tokens[ref]
		needed = needed || ref == servicesFor(want) || ref.Kind == node.RuntimeClass || ref.Kind == node.PersistentVolumeClaim
		switch u := o.used[ref]; {
		case u == nil || !u.there && u.wrong == nil:
			waits = errUnread
		case !u.there && (needed || !lasts(u.wrong)):
			_, isToken := tokens[ref]
			return lack(want, ref, u.wrong, isToken)
		}
	}
	return waits
}

// lack says in Kubernetes' words what a pod lacks.
func lack(want *corev1.Pod, ref node.ObjectRef, wrong error, isToken bool) *node.Failure {
	var volumes []string
	for i := range want.Spec.Volumes {
		if v := &want.Spec.Volumes[i]; mounts(want, v, ref) {
			volumes = append(volumes, v.Name)
		}
	}
	reason, words := node.FailedMount, ""
	var unattached *notAttached
	switch {
	case errors.As(wrong, &unattached): // it has Kubernetes' words
	case ref.Kind == node.RuntimeClass:
		reason, words = node.FailedCreateSandbox, "Failed to create pod sandbox: "
	case ref.Kind == node.PersistentVolumeClaim:
		words = fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=%[1]v, unattached volumes=[], "+
			"failed to process volumes=%[1]v: error processing PVC %[2]s/%[3]s: ", volumes, ref.Namespace, ref.Name)
	case len(volumes) == 0 && isToken:
		words = "MountVolume.SetUp failed : kubernetes.io/csi: mounter.SetUpAt failed to get service account token attributes: "
	case len(volumes) == 0:
		reason, words = "Failed", "Error: "
	default:
		words = fmt.Sprintf("MountVolume.SetUp failed for volume %q : ", volumes[0])
	}
	if isToken {
		words += "failed to fetch token: "
	}
	return &node.Failure{Reason: reason, Err: spoken{words, wrong}}
}

// spoken is an error after Kubernetes' words for what it prevents.
type spoken struct {
	words string
	cause error
}

func (s spoken) Error() string { return s.words + s.cause.Error() }
func (s spoken) Unwrap() error { return s.cause }

// mounts reports whether a volume of a pod is made from an object.
func mounts(want *corev1.Pod, v *corev1.Volume, ref node.ObjectRef) bool {
	if v.PersistentVolumeClaim != nil {
		return ref.Kind == node.PersistentVolumeClaim && v.PersistentVolumeClaim.ClaimName == ref.Name
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil && tokenFor(want, source.ServiceAccountToken).Secret() == ref {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.VolumeRefs(want, v), func(used node.ObjectRef) bool { return used.Family() == ref })
}

// explainAfter and authorizes are how long a pod waits before the cluster learns why. Most pods lack nothing by then. An
// API server that forbids what a pod's node may do has often not heard yet that the pod is bound there.
const (
	explainAfter = time.Second
	authorizes   = 10 * time.Second
)

// explain says why a pod does not go to the node: in one event for each reason, and in the pod's status.
func (p *pods) explain(ctx context.Context, want *corev1.Pod, have *local, why error) error {
	lack, ok := errors.AsType[*node.Failure](why)
	if !ok {
		return nil
	}
	patience := explainAfter
	if apierrors.IsForbidden(lack) {
		patience = authorizes
	}
	key := types.NamespacedName{Namespace: want.Namespace, Name: want.Name}
	if p.waits(key, want.UID, lack) < patience {
		return nil
	}
	if p.learnsOf(key, string(want.UID)+" "+lack.Error()) {
		p.warn(ctx, want, lack.Reason, lack.Error())
	}
	if have != nil && have.object.UID == want.UID || !untouched(&want.Status) {
		return nil
	}
	info, err := p.about.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	shown := awaiting(want, info.GetAddresses(), lack, time.Now())
	if equality.Semantic.DeepEqual(shown, want.Status) {
		return nil
	}
	return p.report(ctx, want, &shown)
}

// waits returns how long a pod has been waiting for what it lacks: since the first call, or since the node last took it.
func (p *pods) waits(key types.NamespacedName, uid types.UID, lack *node.Failure) time.Duration {
	what := lack.Error()
	if s, ok := errors.AsType[spoken](lack); ok && apierrors.ReasonForError(lack) == metav1.StatusReasonUnknown {
		what = s.words // an error of the network may have other words each time
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(key)
	if e.waiting != uid || e.waits == nil {
		e.waiting, e.waits = uid, map[string]time.Time{}
	}
	if e.waits[what].IsZero() {
		e.waits[what] = time.Now()
	}
	return time.Since(e.waits[what])
}

// learnsOf notes why a pod does not go to the node, and reports whether that is news.
func (p *pods) learnsOf(key types.NamespacedName, why string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry(key)
	news := e.explained != why
	e.explained = why
	return news
}

// untouched reports whether no kubelet has made anything of a pod yet.
func untouched(s *corev1.PodStatus) bool {
	all := slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses)
	return starting(s) && s.PodIP == "" && !slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting == nil || c.ContainerID != ""
	})
}

// awaiting returns the status of a pod that the node would run if it did not lack something. It is the one that the
// node would show itself.
func awaiting(want *corev1.Pod, addresses []string, lack *node.Failure, now time.Time) corev1.PodStatus {
	object := manifestOf(want, nil)
	slot := node.NewSlot(&node.Pod{Object: object, Accepted: now.Truncate(time.Second)})
	object.Status = status.Of(node.Site{HostIPs: addresses}, slot, nil)
	object.Status.Reason, object.Status.Message = lack.Reason, lack.Error()
	return statusFor(want, &local{object: object})
}
