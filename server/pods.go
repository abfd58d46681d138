package server

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/status"
	"nodal/node/store"
	"nodal/server/auth"
	"nodal/server/runs"
)

// podService shows and changes single pods. Watching is in pods_watch.go.
type podService struct {
	nodev1.UnimplementedPodsServiceServer
	store   *store.Store
	intake  intake.Intake
	site    node.Site
	render  renderers
	now     func() time.Time
	past    PastPod // nil if nothing is recorded
	limit   int     // bytes of a manifest
	stopped <-chan struct{}
}

var _ nodev1.PodsServiceServer = (*podService)(nil)

// GetPod returns one pod.
func (s *podService) GetPod(ctx context.Context, r *nodev1.GetPodRequest) (*nodev1.GetPodResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	if r.GetAt() != 0 {
		return s.was(ctx, key, r.GetAt())
	}
	pod, err := s.show(ctx, key)
	if err != nil {
		return nil, err
	}
	return &nodev1.GetPodResponse{Pod: pod}, nil
}

func (s *podService) show(ctx context.Context, key node.Key) (*nodev1.Pod, error) {
	view, err := runs.Pod(s.store, key)
	if err != nil {
		return nil, err
	}
	return s.render.of(ctx).pod(view)
}

// ListPods returns the selected pods.
func (s *podService) ListPods(ctx context.Context, r *nodev1.ListPodsRequest) (*nodev1.ListPodsResponse, error) {
	chosen, err := newSelection(ctx, r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector(), podFields)
	if err != nil {
		return nil, err
	}
	views, revision := s.store.Views()
	render := s.render.of(ctx)
	answer := &nodev1.ListPodsResponse{Revision: revision}
	for _, v := range views {
		if !chosen.matches(v, s.phase) {
			continue
		}
		pod, err := render.pod(v)
		if err != nil {
			return nil, err
		}
		answer.Pods = append(answer.Pods, pod)
	}
	return answer, nil
}

// ListPodsText returns the selected pods as the JSON of ListPods. As messages, the objects
// would take forty times as long: most of a second for a thousand pods.
func (s *podService) ListPodsText(
	ctx context.Context, r *nodev1.ListPodsTextRequest,
) (*nodev1.ListPodsTextResponse, error) {
	chosen, err := newSelection(ctx, r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector(), podFields)
	if err != nil {
		return nil, err
	}
	views, revision := s.store.Views()
	pods, err := s.render.of(ctx).list(views, func(v store.View) bool { return chosen.matches(v, s.phase) })
	if err != nil {
		return nil, err
	}
	return &nodev1.ListPodsTextResponse{Json: listText(pods, revision)}, nil
}

// objects returns every pod that the caller sees, as /pods shows it.
func (s *podService) objects(ctx context.Context) ([][]byte, error) {
	views, _ := s.store.Views()
	pods, err := s.render.of(ctx).list(views, func(v store.View) bool { return auth.Sees(ctx, v.Key.Namespace) })
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(pods))
	for i, pod := range pods {
		all[i] = pod.object
	}
	return all, nil
}

func (s *podService) phase(v store.View) corev1.PodPhase {
	return status.Of(s.site, v.Slot, v.Got).Phase
}

// PutPod applies the manifest of the one pod that the path names.
func (s *podService) PutPod(ctx context.Context, r *nodev1.PutPodRequest) (*nodev1.PutPodResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	deliveries, err := deliver(ctx, r.GetManifest(), s.limit, manifest.Options{Namespace: key.Namespace})
	if err != nil {
		return nil, err
	}
	if len(deliveries) != 1 || deliveries[0].Pod == nil {
		return nil, fmt.Errorf("the manifest of pod %s does not hold one pod and nothing else: %w", key, node.ErrInvalid)
	}
	if err := checkNamed(deliveries[0], key); err != nil {
		return nil, err
	}
	deliveries[0].Since = r.UnchangedSince
	outcomes, _, err := s.intake.Apply(deliveries, s.now())
	if err != nil {
		return nil, err
	}
	pod, err := s.show(ctx, key)
	if err != nil {
		return nil, err
	}
	return &nodev1.PutPodResponse{Outcome: outcomeOf(outcomes[0]), Pod: pod}, nil
}

// checkNamed refuses the manifest of a pod that the path does not name.
func checkNamed(d intake.Delivery, key node.Key) error {
	var wrong []node.Violation
	check := func(field, got, want string) {
		if got != want {
			wrong = append(wrong, node.Violation{
				Document: d.Document, Object: "Pod " + node.KeyOf(d.Pod).String(),
				Field: field, Rule: fmt.Sprintf("has to be %q, as in the path", want),
			})
		}
	}
	check("metadata.namespace", d.Pod.Namespace, key.Namespace)
	check("metadata.name", d.Pod.Name, key.Name)
	if len(wrong) > 0 {
		return &node.InvalidError{Violations: wrong}
	}
	return nil
}

// DeletePod starts a graceful deletion, or shortens one.
func (s *podService) DeletePod(ctx context.Context, r *nodev1.DeletePodRequest) (*nodev1.DeletePodResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	grace, err := graceOf(r.GracePeriodSeconds)
	if err != nil {
		return nil, err
	}
	before, err := runs.Pod(s.store, key)
	if err != nil {
		return nil, err
	}
	request := intake.DeleteRequest{Key: key, UID: types.UID(r.GetUid()), Grace: grace, Since: r.UnchangedSince}
	if _, err := s.intake.Delete(request, s.now()); err != nil {
		return nil, err
	}
	// A pod that had nothing left to end may be gone by now. It is then shown as it was.
	if after, ok := s.store.View(key); ok {
		before = after
	}
	pod, err := s.render.of(ctx).pod(before)
	if err != nil {
		return nil, err
	}
	return &nodev1.DeletePodResponse{Pod: pod}, nil
}

// SetPodCondition sets a condition of the pod that a client vouches for.
func (s *podService) SetPodCondition(
	ctx context.Context, r *nodev1.SetPodConditionRequest,
) (*nodev1.SetPodConditionResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	said := corev1.PodCondition{
		Type: corev1.PodConditionType(r.GetType()), Status: corev1.ConditionStatus(r.GetStatus()),
		Reason: r.GetReason(), Message: r.GetMessage(),
	}
	if err := s.intake.SetCondition(key, said, s.now()); err != nil {
		return nil, err
	}
	pod, err := s.show(ctx, key)
	if err != nil {
		return nil, err
	}
	return &nodev1.SetPodConditionResponse{Pod: pod}, nil
}

// graceOf checks a grace period. Nil stands for the pod's own.
func graceOf(seconds *int64) (*time.Duration, error) {
	if seconds == nil {
		return nil, nil
	}
	if *seconds < 0 || *seconds > math.MaxInt32 {
		return nil, fmt.Errorf("grace period of %d seconds: must be between 0 and %d: %w", *seconds, math.MaxInt32,
			node.ErrInvalid)
	}
	grace := time.Duration(*seconds) * time.Second
	return &grace, nil
}

// RestartPod ends running containers, and they start again.
func (s *podService) RestartPod(ctx context.Context, r *nodev1.RestartPodRequest) (*nodev1.RestartPodResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	if err := s.intake.Restart(intake.RestartRequest{Key: key, UID: types.UID(r.GetUid()),
		Container: r.GetContainer()}); err != nil {
		return nil, err
	}
	view, err := runs.Pod(s.store, key)
	if err != nil {
		return nil, err
	}
	pod, err := s.render.of(ctx).pod(view)
	if err != nil {
		return nil, err
	}
	grace := node.GracePeriod(view.Slot.Pod.Object)
	return &nodev1.RestartPodResponse{Pod: pod, GracePeriod: durationpb.New(grace)}, nil
}
