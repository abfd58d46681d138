package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// upstreamPods serves upstream's API of a node's pods, for programs on the same machine.
type upstreamPods struct {
	podsv1alpha1.UnimplementedPodsServer
	store   *store.Store
	render  *renderer
	stopped <-chan struct{}
}

var _ podsv1alpha1.PodsServer = (*upstreamPods)(nil)

// ListPods returns all pods.
func (s *upstreamPods) ListPods(
	context.Context, *podsv1alpha1.ListPodsRequest,
) (*podsv1alpha1.ListPodsResponse, error) {
	views, _ := s.store.Views()
	answer := &podsv1alpha1.ListPodsResponse{}
	for _, v := range views {
		pod, err := s.encode(v)
		if err != nil {
			return nil, err
		}
		answer.Pods = append(answer.Pods, pod)
	}
	return answer, nil
}

// GetPod returns the pod with a UID.
func (s *upstreamPods) GetPod(
	_ context.Context, r *podsv1alpha1.GetPodRequest,
) (*podsv1alpha1.GetPodResponse, error) {
	if r.GetPodUID() == "" {
		return nil, fmt.Errorf("podUID: must be the UID of a pod: %w", node.ErrInvalid)
	}
	views, _ := s.store.Views()
	for _, v := range views {
		if string(v.Slot.Pod.UID()) != r.GetPodUID() {
			continue
		}
		pod, err := s.encode(v)
		return &podsv1alpha1.GetPodResponse{Pod: pod}, err
	}
	return nil, fmt.Errorf("pod with the UID %q: %w", r.GetPodUID(), node.ErrNotFound)
}

var upstreamEvents = map[nodev1.WatchType]podsv1alpha1.EventType{
	nodev1.WatchType_WATCH_TYPE_ADDED:    podsv1alpha1.EventType_ADDED,
	nodev1.WatchType_WATCH_TYPE_MODIFIED: podsv1alpha1.EventType_MODIFIED,
	nodev1.WatchType_WATCH_TYPE_DELETED:  podsv1alpha1.EventType_DELETED,
	nodev1.WatchType_WATCH_TYPE_SYNCED:   podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE,
}

// WatchPods sends all pods, a marker, and then every change.
func (s *upstreamPods) WatchPods(
	_ *podsv1alpha1.WatchPodsRequest, stream grpc.ServerStreamingServer[podsv1alpha1.WatchPodsEvent],
) error {
	pods := allPods(s.store)
	pods.send = func(kind nodev1.WatchType, v *store.View, _ int64) error {
		event := &podsv1alpha1.WatchPodsEvent{Type: upstreamEvents[kind]}
		if v != nil {
			var err error
			if event.Pod, err = s.encode(*v); err != nil {
				return err
			}
		}
		return stream.Send(event)
	}
	return follow(stream.Context(), pods, 0, s.stopped)
}

// encode returns the pod as upstream's protobuf.
func (s *upstreamPods) encode(v store.View) ([]byte, error) {
	object := s.render.object(v)
	// Clients decode a v1.Pod. Upstream's messages name no kind either.
	object.APIVersion, object.Kind = "", ""
	bytes, err := object.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode pod %s: %w", v.Key, err)
	}
	return bytes, nil
}
