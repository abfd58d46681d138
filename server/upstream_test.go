package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/node/store"
)

func decodePod(t *testing.T, text []byte) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestUpstreamsPodsAreTheNodesOwnWithTheirStatus(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("other"))
	n.run(t, "web", node.ContainerRunning)
	client := podsv1alpha1.NewPodsClient(dialServer(t, n.server.PodsAPI()))

	all, err := client.ListPods(t.Context(), &podsv1alpha1.ListPodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.GetPods()) != 2 {
		t.Fatalf("got %d pods, want 2", len(all.GetPods()))
	}
	one, err := client.GetPod(t.Context(), &podsv1alpha1.GetPodRequest{PodUID: "uid-1"})
	if err != nil {
		t.Fatal(err)
	}
	pod := decodePod(t, one.GetPod())
	if pod.Name != "web" || pod.Status.Phase != corev1.PodRunning || pod.Spec.Containers[0].Image == "" {
		t.Errorf("got pod %s in phase %q with the containers %v", pod.Name, pod.Status.Phase, pod.Spec.Containers)
	}
	for uid, want := range map[string]codes.Code{"uid-9": codes.NotFound, "": codes.InvalidArgument} {
		if _, err := client.GetPod(t.Context(), &podsv1alpha1.GetPodRequest{PodUID: uid}); status.Code(err) != want {
			t.Errorf("UID %q: got %v, want %s", uid, err, want)
		}
	}
}

func TestUpstreamsWatchMarksWhenAllPodsAreSentAndEndsWithTheServer(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	client := podsv1alpha1.NewPodsClient(dialServer(t, n.server.PodsAPI()))
	stream, err := client.WatchPods(t.Context(), &podsv1alpha1.WatchPodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := func(kind podsv1alpha1.EventType, name string) {
		t.Helper()
		event, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if pod := decodePod(t, event.GetPod()); event.GetType() != kind || pod.Name != name {
			t.Errorf("got %s of %q, want %s of %q", event.GetType(), pod.Name, kind, name)
		}
	}
	want(podsv1alpha1.EventType_ADDED, "web")
	want(podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE, "")
	n.run(t, "web", node.ContainerRunning)
	want(podsv1alpha1.EventType_MODIFIED, "web")
	n.forget(t, "web")
	want(podsv1alpha1.EventType_DELETED, "web")
	n.server.Stop()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("after the server's stop: got %v, want %s", err, codes.Unavailable)
	}
}

// give plays the assignment of exclusive parts of the machine to a pod.
func (n *node1) give(t *testing.T, name string, shares node.Shares) {
	t.Helper()
	n.alter(t, name, func(slot *node.Slot) {
		pod := *slot.Pod
		pod.Shares = shares
		slot.Pod = &pod
	})
}

// finish plays the end of a pod.
func (n *node1) finish(t *testing.T, name string) {
	t.Helper()
	n.alter(t, name, func(slot *node.Slot) { slot.Result = &corev1.PodStatus{Phase: corev1.PodSucceeded} })
}

func (n *node1) alter(t *testing.T, name string, change func(*node.Slot)) {
	t.Helper()
	key := node.Key{Namespace: "default", Name: name}
	if _, err := n.store.Transact(func(tx *store.Tx) error {
		slot := *tx.Get(key)
		change(&slot)
		tx.Put(key, &slot)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// compact returns messages in one line. The package for text puts spaces where it likes.
func compact[M proto.Message](of ...M) string {
	var all []string
	for _, m := range of {
		all = append(all, strings.Join(strings.Fields(prototext.MarshalOptions{}.Format(m)), " "))
	}
	return strings.Join(all, "; ")
}

func TestPodResourcesAreTheSharesOfPodsThatHaveNotEnded(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("done")+"  restartPolicy: Never\n")
	n.give(t, "web", node.Shares{"main": {
		CPUs: "2-3,8", Mems: "0", Memory: []node.Piece{{Node: 0, Resource: corev1.ResourceMemory, Amount: 1 << 30}},
	}})
	n.run(t, "done", node.ContainerExited)
	client := podresourcesv1.NewPodResourcesListerClient(dialServer(t, n.server.PodResources()))

	all, err := client.List(t.Context(), &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `name:"web" namespace:"default" containers:{name:"main" cpu_ids:2 cpu_ids:3 cpu_ids:8 ` +
		`memory:{memory_type:"memory" size:1073741824 topology:{nodes:{}}}}`
	if got := compact(all.GetPodResources()...); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := client.Get(t.Context(), &podresourcesv1.GetPodResourcesRequest{PodNamespace: "default", PodName: "web"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"done", "none"} {
		_, err := client.Get(t.Context(), &podresourcesv1.GetPodResourcesRequest{PodNamespace: "default", PodName: name})
		if status.Code(err) != codes.NotFound {
			t.Errorf("pod %s: got %v, want %s", name, err, codes.NotFound)
		}
	}

	page := n.do(t, "GET", "/metrics", "").body
	for _, line := range []string{
		`kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 4`,
		`kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 1`,
		`kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 3`,
		`kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 2`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

func TestPodResourcesNameTheClaimsOfContainers(t *testing.T) {
	pod := &node.Pod{Object: &corev1.Pod{}, Claims: []node.DeviceClaim{{Name: "gpu", Claim: "web-gpu", Drivers: map[string]node.PreparedClaim{
		"d": {Devices: []node.PreparedDevice{{Pool: "p", Device: "0", ShareID: "s", CDI: []string{"v/c=0"}}}},
	}}}}
	pod.Object.Name, pod.Object.Namespace = "web", "default"
	pod.Object.Spec.Containers = []corev1.Container{
		{Name: "main", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu", Request: "one"}}}}, {Name: "other"},
	}
	got, err := resourcesOf(pod, nil)
	const want = `name:"web" namespace:"default" containers:{name:"main" dynamic_resources:{claim_name:"web-gpu" claim_namespace:"default" ` +
		`claim_resources:{cdi_devices:{name:"v/c=0"} driver_name:"d" pool_name:"p" device_name:"0" share_id:"s"}}} containers:{name:"other"}`
	if text := compact(got); err != nil || text != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
}

func TestAllocatableResourcesAreThoseThatTheNodeHandsOut(t *testing.T) {
	n := newNode(t)
	client := podresourcesv1.NewPodResourcesListerClient(dialServer(t, n.server.PodResources()))
	want := func(want string) {
		t.Helper()
		got, err := client.GetAllocatableResources(t.Context(), &podresourcesv1.AllocatableResourcesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if text := compact(got); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	}
	want("")
	n.offers.Post(offer.Offer{Node: admit.Node{Name: "node1"}, Assign: &assign.Rules{
		Topology: assign.Topology{{ID: 0}, {ID: 1}, {ID: 2, Node: 1}}, Static: true, Reserved: cpuset.New(0),
		Memory: assign.Memory{1: {corev1.ResourceMemory: 5}, 0: {corev1.ResourceMemory: 4, "hugepages-2Mi": 3}},
	}})
	want(`cpu_ids:1 cpu_ids:2 memory:{memory_type:"hugepages-2Mi" size:3 topology:{nodes:{}}} ` +
		`memory:{memory_type:"memory" size:4 topology:{nodes:{}}} memory:{memory_type:"memory" size:5 topology:{nodes:{ID:1}}}`)
	n.offers.Post(offer.Offer{Node: admit.Node{Name: "node1"}, Assign: &assign.Rules{Devices: assign.Devices{
		"example.com/gpu": {{ID: "a", Healthy: true, Nodes: []int{0, 1}}, {ID: "b"}, {ID: "c", Healthy: true}},
	}}})
	want(`devices:{resource_name:"example.com/gpu" device_ids:"a" topology:{nodes:{}}} ` +
		`devices:{resource_name:"example.com/gpu" device_ids:"a" topology:{nodes:{ID:1}}} devices:{resource_name:"example.com/gpu" device_ids:"c"}`)
}

func TestPodResourcesAreBoundedInRequestsASecond(t *testing.T) {
	n := newNode(t)
	client := podresourcesv1.NewPodResourcesListerClient(dialServer(t, n.server.PodResources()))
	refused := make(chan bool)
	for range 100 {
		go func() {
			_, err := client.List(t.Context(), &podresourcesv1.ListPodResourcesRequest{}, grpc.WaitForReady(true))
			refused <- status.Code(err) == codes.ResourceExhausted
		}()
	}
	count := 0
	for range 100 {
		if <-refused {
			count++
		}
	}
	if count == 0 || count > 90 {
		t.Errorf("%d of 100 requests at once were refused", count)
	}
}
