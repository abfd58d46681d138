package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// at connects to a socket below the node's root directory.
func (n *node) at(below ...string) *grpc.ClientConn {
	n.t.Helper()
	path := filepath.Join(append([]string{n.Root()}, below...)...)
	n.eventually("the socket "+path, func() bool { _, err := os.Stat(path); return err == nil })
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { conn.Close() })
	return conn
}

func TestUpstreamsSocketsShowPodsAndWhatBelongsToThem(t *testing.T) {
	claim.Shows(t, "Ways in",
		"upstream's socket of pod resources lists the exclusive CPUs of containers and what the node may hand out",
		"upstream's socket of pods lists and watches them as v1.Pod, across restarts of the agent",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["cpuManagerPolicy"] = "static"
		c.Settings["kubeReserved"] = map[string]string{"cpu": "500m"} // this takes a whole CPU
	})
	n.apply(asking("owns", "1"))
	n.waitRunning("owns")
	resources := podresourcesv1.NewPodResourcesListerClient(n.at("pod-resources", "kubelet.sock"))
	all, err := resources.List(t.Context(), &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	may, err := resources.GetAllocatableResources(t.Context(), &podresourcesv1.AllocatableResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.GetPodResources()) != 1 || len(all.GetPodResources()[0].GetContainers()) != 1 {
		t.Fatalf("got %v, want one pod with one container", all)
	}
	if got := all.GetPodResources()[0].GetContainers()[0].GetCpuIds(); len(got) != 1 || got[0] != may.GetCpuIds()[0] {
		t.Errorf("the container has the CPUs %v, of %v", got, may.GetCpuIds())
	}

	pods := podsv1alpha1.NewPodsClient(n.at("pods-api", "pods-api.sock"))
	watch := func() podsv1alpha1.Pods_WatchPodsClient {
		t.Helper()
		stream, err := pods.WatchPods(t.Context(), &podsv1alpha1.WatchPodsRequest{}, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		n.hears(stream, "the pod first", func(kind podsv1alpha1.EventType, pod *corev1.Pod) bool {
			return kind == podsv1alpha1.EventType_ADDED && pod.Name == "owns" && pod.Status.Phase == corev1.PodRunning
		})
		n.hears(stream, "that this was all", func(kind podsv1alpha1.EventType, _ *corev1.Pod) bool {
			return kind == podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE
		})
		return stream
	}
	watch()
	n.Kill()
	n.up()
	stream := watch()
	n.deletePod("owns", "?gracePeriodSeconds=1")
	n.hears(stream, "its end", func(kind podsv1alpha1.EventType, pod *corev1.Pod) bool {
		return kind == podsv1alpha1.EventType_DELETED && pod.Name == "owns"
	})
}

// hears reads a watch until an event is as it should be.
func (n *node) hears(stream podsv1alpha1.Pods_WatchPodsClient, what string, want func(podsv1alpha1.EventType, *corev1.Pod) bool) {
	n.t.Helper()
	for {
		event, err := stream.Recv()
		if err != nil {
			n.t.Fatalf("wait for %s: %v", what, err)
		}
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(event.GetPod()); err != nil {
			n.t.Fatal(err)
		}
		if want(event.GetType(), pod) {
			return
		}
	}
}
