package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/status"
	"nodal/node/store"
	"nodal/server/wire"
)

// renderer shows pods as clients see them. A pod's JSON depends on nothing but its view, so
// it is kept until the view's revision changes. A poll of /pods on an idle node then costs
// no more than a copy.
type renderer struct {
	site  node.Site
	hides bool // leaves out the values of environments, see render_viewer.go

	mu   sync.Mutex
	kept map[node.Key]rendered
}

// rendered is a pod in JSON: the summary, and the object without apiVersion and kind, as in
// a list of Kubernetes.
type rendered struct {
	revision        int64
	object, summary []byte
}

func newRenderer(site node.Site) *renderer {
	return &renderer{site: site, kept: map[node.Key]rendered{}}
}

// object returns the pod as Kubernetes shows it, with its present status.
func (r *renderer) object(v store.View) *corev1.Pod {
	object := *v.Slot.Pod.Object
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	object.ResourceVersion = strconv.FormatInt(v.Revision, 10)
	object.Status = status.Of(r.site, v.Slot, v.Got)
	if d := v.Slot.Pod.Deletion; d != nil {
		deadline, grace := metav1.NewTime(d.Deadline()), int64(d.Grace.Seconds())
		object.DeletionTimestamp, object.DeletionGracePeriodSeconds = &deadline, &grace
	}
	if r.hides {
		return withoutValues(&object)
	}
	return &object
}

// pod returns the message of a pod: a summary with the whole object.
func (r *renderer) pod(v store.View) (*nodev1.Pod, error) {
	object := r.object(v)
	pod := summary(v, object)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode pod %s: %w", v.Key, err)
	}
	if pod.Object, err = structpb.NewStruct(fields); err != nil {
		return nil, fmt.Errorf("encode pod %s: %w", v.Key, err)
	}
	return pod, nil
}

func summary(v store.View, object *corev1.Pod) *nodev1.Pod {
	pod := &nodev1.Pod{
		Namespace: v.Key.Namespace, Name: v.Key.Name, Uid: string(object.UID),
		Revision: v.Revision, Source: string(v.Slot.Pod.Source), Phase: phases[object.Status.Phase],
		Ready: node.IsReady(&object.Status), Restarts: restarts(&object.Status),
		AcceptedAt: timestamppb.New(v.Slot.Pod.Accepted),
	}
	pod.Reason, pod.Message = reasonOf(object)
	for _, ip := range object.Status.PodIPs {
		pod.PodIps = append(pod.PodIps, ip.IP)
	}
	if d := v.Slot.Pod.Deletion; d != nil {
		pod.DeletionDeadline = timestamppb.New(d.Deadline())
	}
	return pod
}

var phases = map[corev1.PodPhase]nodev1.PodPhase{
	corev1.PodPending:   nodev1.PodPhase_POD_PHASE_PENDING,
	corev1.PodRunning:   nodev1.PodPhase_POD_PHASE_RUNNING,
	corev1.PodSucceeded: nodev1.PodPhase_POD_PHASE_SUCCEEDED,
	corev1.PodFailed:    nodev1.PodPhase_POD_PHASE_FAILED,
}

// list renders the wanted pods, in the order of all. It forgets the JSON of pods that are
// not among all.
func (r *renderer) list(all []store.View, want func(store.View) bool) ([]rendered, error) {
	r.mu.Lock()
	known := r.kept
	r.mu.Unlock()
	kept, wanted := make(map[node.Key]rendered, len(all)), make([]rendered, 0, len(all))
	for _, v := range all {
		pod := known[v.Key]
		if want(v) {
			if pod.revision != v.Revision {
				var err error
				if pod, err = r.render(v); err != nil {
					return nil, fmt.Errorf("encode pod %s: %w", v.Key, err)
				}
			}
			wanted = append(wanted, pod)
		}
		if pod.revision == v.Revision {
			kept[v.Key] = pod
		}
	}
	r.mu.Lock()
	if !maps.EqualFunc(kept, r.kept, func(a, b rendered) bool { return a.revision == b.revision }) {
		r.kept = kept
	}
	r.mu.Unlock()
	return wanted, nil
}

func (r *renderer) render(v store.View) (rendered, error) {
	object := r.object(v)
	beside, err := wire.JSON(summary(v, object))
	if err != nil {
		return rendered{}, err
	}
	object.TypeMeta = metav1.TypeMeta{}
	text, err := json.Marshal(object)
	return rendered{revision: v.Revision, object: text, summary: beside}, err
}

func restarts(s *corev1.PodStatus) int32 {
	var n int32
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			n += list[i].RestartCount
		}
	}
	return n
}

// reasonOf returns the most telling reason why a pod is not ready or has to end.
func reasonOf(object *corev1.Pod) (reason, message string) {
	s := &object.Status
	switch {
	case object.DeletionTimestamp != nil:
		return "Terminating", "the pod may be killed from " + object.DeletionTimestamp.UTC().Format("2006-01-02T15:04:05Z") +
			" on"
	case s.Reason != "":
		return s.Reason, s.Message
	case node.IsReady(s):
		return "", ""
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			if reason, message := faultOf(&list[i].State); reason != "" {
				return reason, message
			}
		}
	}
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			switch c := &list[i]; {
			case c.State.Waiting != nil:
				return c.State.Waiting.Reason, c.State.Waiting.Message
			case c.State.Terminated != nil:
				return c.State.Terminated.Reason, c.State.Terminated.Message
			}
		}
	}
	return "", ""
}

// faultOf returns the reason of a container that has failed, or that waits for something
// else than its turn.
func faultOf(state *corev1.ContainerState) (reason, message string) {
	if w := state.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
		return w.Reason, w.Message
	}
	if t := state.Terminated; t != nil && t.ExitCode != 0 {
		return t.Reason, t.Message
	}
	return "", ""
}
