package kube

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/auth"
)

// usageVersion is the API of kubectl top. On a cluster metrics-server has it.
var usageVersion = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}

// nodeUsage is a NodeMetrics.
type nodeUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Timestamp         metav1.Time         `json:"timestamp"`
	Window            metav1.Duration     `json:"window"`
	Usage             corev1.ResourceList `json:"usage"`
}

// podUsage is a PodMetrics.
type podUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Timestamp         metav1.Time      `json:"timestamp"`
	Window            metav1.Duration  `json:"window"`
	Containers        []containerUsage `json:"containers"`
}

type containerUsage struct {
	Name  string              `json:"name"`
	Usage corev1.ResourceList `json:"usage"`
}

const usageModel = "io.k8s.metrics.pkg.apis.metrics.v1beta1."

// OpenAPIModelName returns the name of the schema.
func (nodeUsage) OpenAPIModelName() string { return usageModel + "NodeMetrics" }

// OpenAPIModelName returns the name of the schema.
func (podUsage) OpenAPIModelName() string { return usageModel + "PodMetrics" }

// OpenAPIModelName returns the name of the schema.
func (containerUsage) OpenAPIModelName() string { return usageModel + "ContainerMetrics" }

// DeepCopyObject returns a copy with the same figures, which never change.
func (u *nodeUsage) DeepCopyObject() runtime.Object { c := *u; return &c }

// DeepCopyObject returns a copy with the same figures, which never change.
func (u *podUsage) DeepCopyObject() runtime.Object { c := *u; return &c }

var (
	_ runtime.Object = (*nodeUsage)(nil)
	_ runtime.Object = (*podUsage)(nil)
)

// usages returns the lines of the table for kubectl top.
func usages(c clients) []*resource {
	stats := nodev1.StatsService_WatchStats_FullMethodName
	return []*resource{{
		GroupVersionKind: usageVersion.WithKind("NodeMetrics"), plural: "nodes",
		object: new(nodeUsage), source: nodeUsages{c}, columns: nodeUsageColumns, get: stats, list: stats, scope: auth.WholeNode,
	}, {
		GroupVersionKind: usageVersion.WithKind("PodMetrics"), plural: "pods", namespaced: true,
		object: new(podUsage), source: podUsages{c}, columns: podUsageColumns, get: stats, list: stats,
	}}
}

// span holds the figures at the beginning and at the end of a time. The use of CPU is known for a time alone.
type span struct{ begin, end *nodev1.Stats }

const (
	spanInterval = time.Second // the least of the node API
	spanLooks    = 5           // at figures, until they are newer than those at the beginning
)

// measure looks at the figures of a namespace, or of all and the node, for as long as it takes to know what they use.
func (c clients) measure(ctx context.Context, namespace string) (span, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.stats.WatchStats(ctx, &nodev1.WatchStatsRequest{Namespace: namespace, Interval: durationpb.New(spanInterval)})
	if err != nil {
		return span{}, err
	}
	var s span
	for range spanLooks {
		answer, err := stream.Recv()
		if err != nil {
			return s, err
		}
		if s.begin == nil {
			s.begin = answer.GetStats()
		}
		s.end = answer.GetStats()
		if s.known() {
			break
		}
	}
	return s, nil
}

// known reports whether there is nothing left to wait for: what had figures at the beginning has later ones at the end.
func (s span) known() bool {
	if stands(s.begin.GetNode().GetUsage(), s.end.GetNode().GetUsage()) {
		return false
	}
	before := s.before()
	for _, pod := range s.end.GetPods() {
		earlier := containersOf(before[pod.GetUid()])
		for _, c := range pod.GetContainers() {
			if stands(earlier[c.GetName()].GetUsage(), c.GetUsage()) {
				return false
			}
		}
	}
	return true
}

// stands reports whether two figures of the same thing are of one moment.
func stands(before, now *nodev1.Usage) bool {
	return before.GetTime() != nil && now.GetTime() != nil && !now.GetTime().AsTime().After(before.GetTime().AsTime())
}

func containersOf(pod *nodev1.PodStats) map[string]*nodev1.ContainerStats {
	all := map[string]*nodev1.ContainerStats{}
	for _, c := range pod.GetContainers() {
		all[c.GetName()] = c
	}
	return all
}

// before returns the pods at the beginning by their UIDs.
func (s span) before() map[string]*nodev1.PodStats {
	all := map[string]*nodev1.PodStats{}
	for _, pod := range s.begin.GetPods() {
		all[pod.GetUid()] = pod
	}
	return all
}

// rate holds what something used in a time, which ends at a moment.
type rate struct {
	at     time.Time
	window time.Duration
	usage  corev1.ResourceList
}

// rateOf returns what lies between two figures of the same thing. False means that one of them lacks what it takes.
func rateOf(before, now *nodev1.Usage) (rate, bool) {
	if before.GetCpuTime() == nil || now.GetCpuTime() == nil || before.GetTime() == nil || now.GetTime() == nil || now.WorkingSetBytes == nil {
		return rate{}, false
	}
	at := now.GetTime().AsTime()
	window := at.Sub(before.GetTime().AsTime())
	spent := now.GetCpuTime().AsDuration() - before.GetCpuTime().AsDuration()
	if window <= 0 || spent < 0 {
		return rate{}, false
	}
	cores := float64(spent) / float64(window)
	return rate{at, window, corev1.ResourceList{
		corev1.ResourceCPU:    *quantity.NewScaledQuantity(int64(cores*1e9), quantity.Nano),
		corev1.ResourceMemory: *quantity.NewQuantity(int64(now.GetWorkingSetBytes()), quantity.BinarySI),
	}}, true
}

// pod returns the use of a pod. It has figures if each of its containers has, over the time of one run.
func (s span) pod(now *nodev1.PodStats, before map[string]*nodev1.PodStats) (*podUsage, bool) {
	made := &podUsage{TypeMeta: metav1.TypeMeta{APIVersion: usageVersion.String(), Kind: "PodMetrics"}}
	earlier := containersOf(before[now.GetUid()])
	for _, c := range now.GetContainers() {
		was := earlier[c.GetName()]
		if was == nil || !was.GetStarted().AsTime().Equal(c.GetStarted().AsTime()) {
			return nil, false
		}
		of, ok := rateOf(was.GetUsage(), c.GetUsage())
		if !ok {
			return nil, false
		}
		if made.Timestamp.IsZero() || of.at.Before(made.Timestamp.Time) {
			made.Timestamp, made.Window = metav1.NewTime(of.at), metav1.Duration{Duration: of.window}
		}
		made.Containers = append(made.Containers, containerUsage{c.GetName(), of.usage})
	}
	return made, len(made.Containers) > 0
}
