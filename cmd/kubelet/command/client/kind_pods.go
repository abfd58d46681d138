package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	nodev1 "nodal/api/gen/node/v1"
)

func podKind() kind {
	return kind{
		name: "pods", aliases: []string{"pod", "po"}, namespaced: true,
		heads: []string{"READY", "STATUS", "RESTARTS", "AGE", "MESSAGE"}, wide: []string{"IP", "SOURCE", "IMAGES"},
		list: func(ctx context.Context, s *session, ask question) ([]item, error) {
			pods, err := s.listPods(ctx, ask.namespace, ask.selector)
			items := make([]item, len(pods))
			for i, p := range pods {
				items[i] = podItem(p)
			}
			return items, err
		},
		get: func(ctx context.Context, s *session, ask question, name string) (item, error) {
			p, err := s.pod(ctx, ask.namespace, name)
			if err != nil {
				return item{}, err
			}
			return podItem(p), nil
		},
		watch: watchPods,
	}
}

func (s *session) listPods(ctx context.Context, namespace, selector string) ([]*nodev1.Pod, error) {
	client, err := s.pods()
	if err != nil {
		return nil, err
	}
	reply, err := client.ListPods(ctx, &nodev1.ListPodsRequest{Namespace: namespace, LabelSelector: selector})
	return reply.GetPods(), err
}

func (s *session) pod(ctx context.Context, namespace, name string) (*nodev1.Pod, error) {
	client, err := s.pods()
	if err != nil {
		return nil, err
	}
	reply, err := client.GetPod(ctx, &nodev1.GetPodRequest{Namespace: namespace, Name: name})
	return reply.GetPod(), err
}

func watchPods(ctx context.Context, s *session, ask question, each func(string, item) error) error {
	client, err := s.pods()
	if err != nil {
		return err
	}
	stream, err := client.WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: ask.namespace, LabelSelector: ask.selector})
	return follow(stream, err, func(m *nodev1.WatchPodsResponse) error {
		if m.GetPod() == nil {
			return each(changeOf(m.GetType()), item{})
		}
		return each(changeOf(m.GetType()), podItem(m.GetPod()))
	})
}

// follow passes on what a watch sends. A watch has no end of its own.
func follow[M any](stream grpc.ServerStreamingClient[M], err error, each func(*M) error) error {
	for err == nil {
		var message *M
		if message, err = stream.Recv(); err != nil {
			return ended(err)
		}
		err = each(message)
	}
	return err
}

// ended turns the end of a stream that has none into an error.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the node ended the watch; start it again")
	}
	return err
}

// synced is the change that ends what was there before; it comes without an item.
const synced = "SYNCED"

// changeOf names a change in one word.
func changeOf(t nodev1.WatchType) string {
	return strings.TrimPrefix(t.String(), "WATCH_TYPE_")
}

func podItem(p *nodev1.Pod) item {
	of := podOf(p)
	ready := 0
	for _, c := range of.Status.ContainerStatuses {
		if c.Ready {
			ready++
		}
	}
	var images []string
	for _, c := range of.Spec.Containers {
		images = append(images, c.Image)
	}
	return item{
		kind: "pod", namespace: p.GetNamespace(), name: p.GetName(), object: p.GetObject().AsMap(),
		cells: []string{
			fmt.Sprintf("%d/%d", ready, len(of.Spec.Containers)), statusOf(p), strconv.Itoa(int(p.GetRestarts())),
			age(p.GetAcceptedAt()), p.GetMessage(),
		},
		wide: []string{orNone(strings.Join(p.GetPodIps(), ",")), p.GetSource(), strings.Join(images, ",")},
	}
}

// podOf returns the Kubernetes pod that a pod of the API holds. What does not fit is left out.
func podOf(p *nodev1.Pod) *corev1.Pod {
	var of corev1.Pod
	into(p.GetObject(), &of)
	return &of
}

// into reads the JSON of a Kubernetes object as far as it fits.
func into(object *structpb.Struct, value any) {
	if text, err := json.Marshal(object.AsMap()); err == nil {
		_ = json.Unmarshal(text, value)
	}
}

// statusOf says in one word how a pod is.
func statusOf(p *nodev1.Pod) string {
	if p.GetDeletionDeadline() != nil {
		return "Terminating"
	}
	phase := strings.TrimPrefix(p.GetPhase().String(), "POD_PHASE_")
	return cmp.Or(p.GetReason(), phase[:1]+strings.ToLower(phase[1:]))
}

// age says how long ago something was.
func age(at *timestamppb.Timestamp) string {
	if at == nil {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(at.AsTime()))
}
