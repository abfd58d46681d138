package metrics

import (
	"context"
	"errors"
	"math"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

var errBroken = errors.New("broken")

// busyAgent returns an agent that has counted something in every family.
func busyAgent() *Agent {
	a := testAgent()
	a.Called("RunPodSandbox", "", time.Second, errBroken)
	a.pods.containers.WithLabelValues("container").Inc()
	a.requests.total.WithLabelValues("", "", "", "").Inc()
	a.requests.took.WithLabelValues("", "", "", "").Observe(1)
	a.requests.inFlight.WithLabelValues("", "", "", "").Inc()
	a.Taken(&node.Pod{Object: &corev1.Pod{}, Refused: &node.Refusal{Reason: "OutOfpods"}})
	a.Assigns(twoCPUs)
	a.Worked("sync", time.Second)
	a.Evicted("emptydirfs.limit")
	a.Relieved("memory.available", time.Second)
	a.Preempted("cpu")
	a.Collected("space")
	a.Pulled(1, time.Second)
	a.ServingCertificate(inAnHour)
	a.ClientCertificate(inAnHour)
	a.Claims(func(context.Context) []statsapi.VolumeStats { return []statsapi.VolumeStats{halfFull("data")} })
	a.Shutdowns(func() (began, ended time.Time) { return time.Unix(1000, 0), time.Unix(1030, 5e8) })
	useCluster(a)
	return a
}

func useCluster(a *Agent) {
	ctx, at, told := context.Background(), url.URL{Host: "api:6443"}, a.Cluster()
	told.RequestLatency.Observe(ctx, "GET", at, time.Second)
	told.RateLimiterLatency.Observe(ctx, "GET", at, time.Second)
	told.ResolverLatency.Observe(ctx, "api", time.Second)
	told.RequestSize.Observe(ctx, "GET", at.Host, 1)
	told.ResponseSize.Observe(ctx, "GET", at.Host, 1)
	told.RequestResult.Increment(ctx, "200", "GET", at.Host)
	told.RequestRetry.IncrementRetry(ctx, "429", "GET", at.Host)
	told.TransportCacheEntries.Observe(2)
	told.TransportCreateCalls.Increment("hit")
	told.ExecPluginCalls.Increment(0, "no_error")
	told.ClientCertRotationAge.Observe(time.Hour)
	hour := inAnHour()
	told.ClientCertExpiry.Set(&hour)
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// twoCPUs lie in a NUMA node each, and the first is reserved.
func twoCPUs() *assign.Rules {
	return &assign.Rules{Static: true, Reserved: cpuset.New(0), Topology: assign.Topology{{ID: 0}, {ID: 1, Core: 1, Node: 1}}}
}

func halfFull(claim string) statsapi.VolumeStats {
	whole, half := uint64(8), uint64(4)
	return statsapi.VolumeStats{PVCRef: &statsapi.PVCReference{Name: claim, Namespace: "default"}, FsStats: statsapi.FsStats{
		CapacityBytes: &whole, UsedBytes: &half, AvailableBytes: &half, Inodes: &whole, InodesUsed: &half, InodesFree: &half,
	}}
}

// sample is the expected value of a family under some labels.
type sample struct {
	name   string
	labels []string
	want   float64
}

func expect(t *testing.T, a *Agent, samples ...sample) {
	t.Helper()
	found := read(t, a)
	for _, s := range samples {
		if got := value(found[s.name], s.labels...); got != s.want {
			t.Errorf("%s%q is %v, want %v", s.name, s.labels, got, s.want)
		}
	}
}

func TestNewPodsAreCounted(t *testing.T) {
	refused := func(reason string, lack node.Lack) *node.Pod {
		return &node.Pod{Object: &corev1.Pod{}, Refused: &node.Refusal{Reason: reason, Lack: lack}}
	}
	a := testAgent()
	for _, pod := range []*node.Pod{
		{Object: &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2)}}, Shares: node.Shares{"a": {CPUs: "1"}, "b": {CPUs: "2", Mems: "0"}}},
		{Object: &corev1.Pod{}, Source: node.SourceRuntime},
		refused("OutOfcpu", ""), refused("OutOfexample.com/disk", ""), refused("NodeAffinity", ""),
		refused("Evicted", ""), refused("SupplementalGroupsPolicyNotSupported", ""),
		refused("TopologyAffinityError", node.LackPlace), refused("SMTAlignmentError", node.LackCPUs),
		refused("UnexpectedAdmissionError", node.LackCPUs), refused("UnexpectedAdmissionError", node.LackMemory),
	} {
		a.Taken(pod)
	}
	expect(t, a,
		sample{"kubelet_containers_per_pod_count", nil, 1}, sample{"kubelet_orphaned_runtime_pods_total", nil, 1},
		sample{"kubelet_admission_rejections_total", []string{"OutOfcpu"}, 1}, sample{"kubelet_admission_rejections_total", []string{"OutOfExtendedResources"}, 1},
		sample{"kubelet_admission_rejections_total", []string{"Other"}, 2}, sample{"kubelet_admission_rejections_total", []string{"TopologyAffinityError"}, 1},
		sample{"kubelet_admission_rejections_total", []string{"Evicted"}, 1}, sample{"kubelet_admission_rejections_total", []string{"SupplementalGroupsPolicyNotSupported"}, 1},
		sample{"kubelet_cpu_manager_pinning_requests_total", nil, 4}, sample{"kubelet_cpu_manager_pinning_errors_total", nil, 2},
		sample{"kubelet_memory_manager_pinning_requests_total", nil, 2}, sample{"kubelet_memory_manager_pinning_errors_total", nil, 1},
		sample{"kubelet_topology_manager_admission_requests_total", nil, 5}, sample{"kubelet_topology_manager_admission_errors_total", nil, 1},
	)
}

func TestExclusiveCPUsAreCounted(t *testing.T) {
	v := pair()
	v.Slot.Pod.Shares = node.Shares{"a": {CPUs: "1"}}
	a := NewAgent("node1", 2, func() ([]store.View, int64) { return []store.View{v, {Gone: true}}, 1 })
	rules := twoCPUs()
	rules.Topology = append(rules.Topology, assign.CPU{ID: 2, Core: 2, Node: 1})
	a.Assigns(func() *assign.Rules { return rules })
	expect(t, a,
		sample{"kubelet_cpu_manager_exclusive_cpu_allocation_count", nil, 1}, sample{"kubelet_cpu_manager_shared_pool_size_millicores", nil, 1000},
		sample{"kubelet_cpu_manager_allocation_per_numa", []string{"0"}, 0}, sample{"kubelet_cpu_manager_allocation_per_numa", []string{"1"}, 1},
	)
}

func TestPodsAreCountedByStage(t *testing.T) {
	view := func(source node.Source, change func(*node.Slot)) store.View {
		v := pair()
		v.Slot.Pod.Source = source
		change(v.Slot)
		return v
	}
	goes := func(s *node.Slot) { s.Pod.Deletion = &node.Deletion{} }
	views := []store.View{
		view(node.SourceAPI, func(*node.Slot) {}), view(node.SourceAPI, goes),
		view(node.SourceAPI, func(s *node.Slot) { s.Termination = &node.Termination{} }),
		view(node.SourceAPI, func(s *node.Slot) { s.Result = &corev1.PodStatus{} }),
		view(node.SourceFile, func(s *node.Slot) { s.Pod.Object.Spec.EphemeralContainers = make([]corev1.EphemeralContainer, 3) }),
		view(node.SourceURL, func(s *node.Slot) { s.Pod.Refused = &node.Refusal{} }),
		view(node.SourceFile, goes), view(node.SourceRuntime, goes), {Gone: true},
	}
	a := NewAgent("node1", 2, func() ([]store.View, int64) { return views, 1 })
	const name = "kubelet_working_pods"
	expect(t, a,
		sample{name, []string{"sync", "desired", ""}, 1}, sample{name, []string{"terminating", "desired", ""}, 2}, sample{name, []string{"terminated", "desired", ""}, 1},
		sample{name, []string{"sync", "desired", "true"}, 2}, sample{name, []string{"terminating", "orphan", "true"}, 1},
		sample{name, []string{"terminating", "runtime_only", "unknown"}, 1}, sample{name, []string{"sync", "orphan", ""}, 0},
		sample{"kubelet_managed_ephemeral_containers", nil, 3}, sample{"kubelet_mirror_pods", nil, 0},
	)
	a.Cluster()
	expect(t, a, sample{"kubelet_mirror_pods", nil, 1})
}

func TestLooksAtTheRuntimeAreCounted(t *testing.T) {
	a := testAgent()
	a.Relisted(someTime, 2*time.Second, nil)
	a.Relisted(someTime.Add(5*time.Second), time.Second, errBroken)
	a.Listened(nil)
	a.Listened(errBroken)
	a.Swept(2, 1)
	expect(t, a,
		sample{"kubelet_pleg_relist_duration_seconds", nil, 2}, sample{"kubelet_pleg_relist_interval_seconds", nil, 1},
		sample{"kubelet_pleg_last_seen_seconds", nil, float64(someTime.Unix())},
		sample{"kubelet_evented_pleg_connection_success_count", nil, 1}, sample{"kubelet_evented_pleg_connection_error_count", nil, 1},
		sample{"kubelet_orphan_pod_cleaned_volumes", nil, 2}, sample{"kubelet_orphan_pod_cleaned_volumes_errors", nil, 1},
	)
	if sum := read(t, a)["kubelet_pleg_relist_interval_seconds"].GetMetric()[0].GetHistogram().GetSampleSum(); sum != 5 {
		t.Errorf("it was looked at after %v s, want 5", sum)
	}
}

func TestTheEndsOfCertificatesAreShown(t *testing.T) {
	a := testAgent()
	serving, client := a.ServingCertificate(inAnHour), a.ClientCertificate(func() time.Time { return time.Time{} })
	serving(2*time.Hour, nil)
	serving(0, nil) // the first certificate replaces none
	serving(0, errBroken)
	client(0, errBroken)
	expect(t, a,
		sample{"kubelet_certificate_manager_server_rotation_seconds", nil, 1}, sample{"kubelet_server_expiration_renew_errors", nil, 1},
		sample{"kubelet_certificate_manager_client_expiration_renew_errors", nil, 1}, sample{"kubelet_certificate_manager_client_ttl_seconds", nil, math.Inf(1)},
	)
	if left := value(read(t, a)["kubelet_certificate_manager_server_ttl_seconds"]); left < 3000 || left > 3600 {
		t.Errorf("%v seconds are left, want an hour", left)
	}
}

func TestAClaimIsReportedOnce(t *testing.T) {
	a := testAgent()
	half := halfFull("data")
	a.Claims(func(context.Context) []statsapi.VolumeStats {
		return []statsapi.VolumeStats{half, {Name: "scratch"}, half, {PVCRef: &statsapi.PVCReference{Name: "unknown"}}}
	})
	expect(t, a,
		sample{"kubelet_volume_stats_capacity_bytes", []string{"default", "data"}, 8}, sample{"kubelet_volume_stats_used_bytes", []string{"data"}, 4},
		sample{"kubelet_volume_stats_inodes_free", []string{"data"}, 4}, sample{"kubelet_volume_stats_used_bytes", []string{"unknown"}, -1},
	)
}

func TestPullsAndInitContainersAreNotTheNodesOwnStartTime(t *testing.T) {
	pod := &node.Pod{Source: node.SourceAPI, Accepted: someTime, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "1"}, Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}}},
	}}
	ended := func(reason, container string, from, to time.Duration) *node.Event {
		return &node.Event{UID: "1", Reason: reason, Container: container, Time: someTime.Add(to), Took: to - from}
	}
	w := waits{}
	for _, e := range []*node.Event{
		ended("Pulled", "a", -time.Second, 2*time.Second), ended("Pulled", "b", time.Second, 4*time.Second), // together 4 s
		ended("Pulled", "c", 3*time.Second, 4*time.Second), // within the one before
		ended("Exited", "first", 6*time.Second, 7*time.Second),
		ended("Pulled", "a", 7*time.Second, 7*time.Second), // it was there already
		ended("Exited", "a", 8*time.Second, 9*time.Second), // of no init container
	} {
		w.add(pod.Object, e)
	}
	a := testAgent()
	a.starts.started(pod, someTime.Add(10*time.Second), w)
	file, claim := *pod, *pod
	file.Source = node.SourceFile
	a.starts.started(&file, someTime.Add(time.Second), nil)
	claim.Object = &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{},
	}}}}}
	a.starts.started(&claim, someTime.Add(time.Second), nil)
	found := read(t, a)
	sli, whole := found["kubelet_pod_start_sli_duration_seconds"].GetMetric()[0].GetHistogram(), found["kubelet_pod_start_total_duration_seconds"].GetMetric()[0].GetHistogram()
	if sli.GetSampleSum() != 5 || sli.GetSampleCount() != 1 || whole.GetSampleSum() != 11 || whole.GetSampleCount() != 2 {
		t.Errorf("got %v s of %d pods, and %v s of %d; want 5 of one, and 11 of two", sli.GetSampleSum(), sli.GetSampleCount(), whole.GetSampleSum(), whole.GetSampleCount())
	}
}
