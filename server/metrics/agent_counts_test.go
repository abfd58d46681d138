package metrics

import (
	"context"
	"errors"
	"math"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/limit"
	"nodal/node/store"
)

var errBroken = errors.New("broken")

// busyAgent returns an agent that has counted something in every family.
func busyAgent() *Agent {
	waits := store.View{Slot: &node.Slot{Pod: &node.Pod{Object: withVolumes(), Resize: &node.Resize{Reason: "Infeasible"}}}}
	a := NewAgent("node1", 2, func() ([]store.View, int64) { return []store.View{waits}, 1 })
	a.Called("RunPodSandbox", "", time.Second, errBroken)
	a.pods.containers.WithLabelValues("container").Inc()
	a.requests.total.WithLabelValues("", "", "", "").Inc()
	a.requests.took.WithLabelValues("", "", "", "").Observe(1)
	a.requests.inFlight.WithLabelValues("", "", "", "").Inc()
	a.Taken(&node.Pod{Object: &corev1.Pod{}, Refused: &node.Refusal{Reason: "OutOfpods"}})
	a.Assigns(twoCPUs)
	a.Keeps(func() (int64, int64) { return 1 << 30, 1 << 20 })
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
	useVolumes(a)
	a.AskedImage(corev1.PullAlways, "", "true")
	a.HasPlugins("sha256:00")
	a.DevicesRegistered("example.com/gpu")
	a.DevicesAllocated("example.com/gpu", time.Second)
	a.CSICalled("disk.example.com", "NodeStageVolume", nil, time.Second)
	a.ClaimsCalled("gpu.example.com", "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", nil, time.Second)
	a.ClaimsHandled("PrepareResources", nil, time.Second)
	a.AskedPlugin("helper", time.Second, errBroken)
	a.Plugins(func() []node.Plugin { return []node.Plugin{{Socket: node.PluginSocket{Name: "x.sock"}}} }, func(name string) string { return "/" + name })
	return a
}

// useVolumes counts volumes, and resizes of the pod that has them.
func useVolumes(a *Agent) {
	pod, waits := &node.Pod{Object: withVolumes()}, &node.Pod{Object: withVolumes(), Resize: &node.Resize{Reason: "Infeasible"}}
	pod.Object.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	a.Volumes(func(*corev1.Pod, string) string { return "kubernetes.io/empty-dir" })
	a.Measured(time.Second)
	a.Did(pod, nil, node.SetUpCgroup(limit.Limits{}), time.Second, nil)
	a.Did(pod, nil, node.SetUp{Facility: node.Volumes, Name: "v"}, time.Second, nil)
	a.Did(pod, nil, node.CreateContainer{Container: "a"}, time.Second, &node.Failure{Reason: "CreateContainerError"})
	a.Changed(pod, waits, "")
	a.Changed(&node.Pod{Object: pod.Object, Resize: &node.Resize{Reason: "Deferred"}}, &node.Pod{Object: pod.Object, Resized: someTime}, "pods_removed")
	a.Resized(time.Second, true)
}

// withVolumes has two volumes, one of which is an image that a container mounts.
func withVolumes() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", VolumeMounts: []corev1.VolumeMount{{Name: "i"}, {Name: "v"}}}},
		Volumes:    []corev1.Volume{{Name: "v"}, {Name: "i", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}},
	}}
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

func TestActionsForPodsAreCounted(t *testing.T) {
	a := testAgent()
	a.Volumes(func(_ *corev1.Pod, name string) string {
		return map[string]string{"v": "kubernetes.io/empty-dir", "i": "kubernetes.io/image"}[name]
	})
	own := false
	pod := &node.Pod{Object: withVolumes()}
	pod.Object.Spec.HostUsers = &own
	refused := &node.Failure{Reason: "CreateContainerError", Err: errBroken}
	runs := &node.Observed{Sandboxes: []node.Sandbox{{State: node.SandboxReady}}}
	hook := node.RunHook{Kind: node.PreStop, Container: "a", Spec: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{}}}
	for _, did := range []struct {
		got    *node.Observed
		action node.Action
		err    error
	}{
		{nil, node.SetUpCgroup(limit.Limits{}), nil},
		{runs, node.SetUpCgroup(limit.Limits{}), nil},
		{runs, node.TearDown{Facility: node.Cgroup}, nil},
		{nil, node.SetUp{Facility: node.Volumes, Name: "v"}, nil},
		{nil, node.SetUp{Facility: node.Volumes, Name: "v"}, errBroken},
		{nil, node.SetUp{Facility: node.Volumes, Name: "unbound"}, errBroken},
		{nil, node.TearDown{Facility: node.Volumes}, nil},
		{nil, node.RunSandbox{}, nil},
		{nil, node.RunSandbox{}, errBroken},
		{nil, node.EnsureImage{Volume: "i"}, nil},
		{nil, node.EnsureImage{Container: "a"}, &node.Failure{Reason: "ErrImagePull"}},
		{nil, node.CreateContainer{Container: "a"}, refused},
		{nil, node.CreateContainer{Container: "a"}, nil},
		{nil, node.StartContainer{Container: "a"}, node.ErrUnknown}, // it may have started
		{nil, hook, nil},
		{nil, hook, errBroken},
	} {
		a.Did(pod, did.got, did.action, time.Second, did.err)
	}
	expect(t, a,
		sample{"kubelet_cgroup_manager_duration_seconds", []string{"create"}, 1}, sample{"kubelet_cgroup_manager_duration_seconds", []string{"update"}, 1},
		sample{"kubelet_cgroup_manager_duration_seconds", []string{"destroy"}, 1},
		sample{"storage_operation_duration_seconds", []string{"volume_mount", "success"}, 1}, sample{"storage_operation_duration_seconds", []string{"volume_mount", "fail-unknown"}, 1},
		sample{"storage_operation_duration_seconds", []string{"volume_unmount", "kubernetes.io/image"}, 1},
		sample{"kubelet_started_user_namespaced_pods_total", nil, 1}, sample{"kubelet_started_user_namespaced_pods_errors_total", nil, 1},
		sample{"kubelet_image_volume_requested_total", nil, 1}, sample{"kubelet_image_volume_mounted_succeed_total", nil, 1}, sample{"kubelet_image_volume_mounted_errors_total", nil, 1},
		sample{"kubelet_started_containers_errors_total", []string{"container", "CreateContainerError"}, 1}, sample{"kubelet_started_containers_errors_total", []string{"ErrImagePull"}, 1},
		sample{"kubelet_started_containers_errors_total", []string{"RunContainerError"}, -1}, sample{"kubelet_sleep_action_terminated_early_total", nil, 1},
	)
}

func TestVolumesAreCountedByPlugins(t *testing.T) {
	laid := &node.Observed{}
	laid.Lay(node.Volumes, "v", node.Part{})
	views := []store.View{
		{Slot: &node.Slot{Pod: &node.Pod{Object: withVolumes()}}, Got: laid},
		{Slot: &node.Slot{Pod: &node.Pod{Object: withVolumes(), Deletion: &node.Deletion{}}}, Got: laid},
		{Slot: &node.Slot{Pod: &node.Pod{Object: withVolumes()}}, Gone: true},
	}
	a := NewAgent("node1", 2, func() ([]store.View, int64) { return views, 1 })
	a.Volumes(func(_ *corev1.Pod, name string) string { return name })
	const name = "volume_manager_total_volumes"
	expect(t, a,
		sample{name, []string{"v", "desired_state_of_world"}, 1}, sample{name, []string{"v", "actual_state_of_world"}, 2},
		sample{name, []string{"i", "desired_state_of_world"}, 1}, sample{name, []string{"i", "actual_state_of_world"}, -1},
	)
}

func TestResizesAreCounted(t *testing.T) {
	object := func(cpu, memory string) *corev1.Pod {
		list := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: list}}}}}
	}
	waits := func(reason string, lack node.Lack) *node.Pod {
		return &node.Pod{Object: object("2", "1"), Resize: &node.Resize{Reason: reason, Lack: lack}}
	}
	deferred, had := waits("Deferred", ""), &node.Pod{Object: object("1", "0")}
	accepted := &node.Pod{Object: deferred.Object, Resized: someTime}
	working := store.View{Slot: &node.Slot{Pod: accepted}}
	views := []store.View{working, {Slot: &node.Slot{Pod: deferred}}, {Slot: &node.Slot{Pod: had}}, {Slot: &node.Slot{Pod: deferred}, Gone: true}}
	a := NewAgent("node1", 2, func() ([]store.View, int64) { return views, 1 })
	a.Resizing(func(v store.View) bool { return v.Slot.Pod == accepted })
	a.Changed(had, deferred, "pod_updated")
	a.Changed(deferred, deferred, "periodic_retry")
	a.Changed(deferred, accepted, "pods_removed")
	a.Changed(deferred, &node.Pod{Object: deferred.Object}, "pod_updated") // it asks for what it has
	for _, lack := range []node.Lack{node.LackCPUs, node.LackMemory, node.LackSwap, ""} {
		a.Changed(had, waits("Infeasible", lack), "pod_updated")
	}
	a.Resized(1500*time.Microsecond, true)
	a.Resized(time.Second, false)
	const asked, infeasible = "kubelet_container_requested_resizes_total", "kubelet_pod_infeasible_resizes_total"
	expect(t, a,
		sample{asked, []string{"cpu", "limits", "increase"}, 5}, sample{asked, []string{"memory", "limits", "add"}, 5}, sample{asked, []string{"requests"}, -1},
		sample{"kubelet_pod_deferred_accepted_resizes_total", []string{"pods_removed"}, 1}, sample{"kubelet_pod_deferred_accepted_resizes_total", []string{"pod_updated"}, -1},
		sample{infeasible, []string{"guaranteed_pod_cpu_manager_static_policy"}, 1}, sample{infeasible, []string{"guaranteed_pod_memory_manager_static_policy"}, 1},
		sample{infeasible, []string{"swap_limitation"}, 1}, sample{infeasible, []string{"insufficient_node_allocatable"}, 1},
		sample{"kubelet_pod_pending_resizes", []string{"deferred"}, 1}, sample{"kubelet_pod_in_progress_resizes", nil, 1},
		sample{"kubelet_pod_resize_duration_milliseconds", []string{"true"}, 1}, sample{"kubelet_pod_resize_duration_milliseconds", []string{"false"}, 1},
	)
	for before, words := range map[string]map[string]string{"0": {"0": "", "1": "add"}, "2": {"0": "remove", "1": "decrease", "2": "", "3": "increase"}} {
		for now, want := range words {
			if got := operation(resource.MustParse(before), resource.MustParse(now)); got != want {
				t.Errorf("from %s to %s is %q, want %q", before, now, got, want)
			}
		}
	}
}

func TestImagesAndTheirCredentialsAreCounted(t *testing.T) {
	a := testAgent()
	a.AskedImage(corev1.PullAlways, "", "true")
	a.AskedImage(corev1.PullIfNotPresent, "true", "false")
	a.HasPlugins("sha256:00")
	a.AskedPlugin("helper", time.Second, nil)
	a.AskedPlugin("helper", time.Second, errBroken)
	const asked = "kubelet_image_manager_ensure_image_requests_total"
	expect(t, a,
		sample{asked, []string{"always", "unknown", "true"}, 1}, sample{asked, []string{"ifnotpresent", "true", "false"}, 1},
		sample{"kubelet_credential_provider_config_info", []string{"sha256:00"}, 1},
		sample{"kubelet_credential_provider_plugin_duration", []string{"helper"}, 2}, sample{"kubelet_credential_provider_plugin_errors_total", []string{"helper"}, 1},
	)
}

func TestSocketsOfPluginsAreCounted(t *testing.T) {
	a := testAgent()
	a.Plugins(func() []node.Plugin {
		return []node.Plugin{
			{Socket: node.PluginSocket{Name: "a", Birth: "1"}, Answer: &node.PluginAnswer{Registered: true}, Gone: true},
			{Socket: node.PluginSocket{Name: "a", Birth: "2"}}, {Socket: node.PluginSocket{Name: "b"}, Answer: &node.PluginAnswer{}},
		}
	}, func(name string) string { return "/p/" + name })
	const name = "plugin_manager_total_plugins"
	expect(t, a,
		sample{name, []string{"/p/a", "desired_state_of_world"}, 1}, sample{name, []string{"/p/a", "actual_state_of_world"}, 1},
		sample{name, []string{"/p/b", "desired_state_of_world"}, 1}, sample{name, []string{"/p/b", "actual_state_of_world"}, -1},
	)
}
