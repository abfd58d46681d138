package cluster

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

const (
	nodePath           = "/api/v1/nodes/node-a"
	uninitialized      = "node.cloudprovider.kubernetes.io/uninitialized"
	annotationGivenIPs = "alpha.kubernetes.io/provided-node-ip"
)

func TestACloudControllerInitializesTheNode(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"with --cloud-provider=external the scheduler gives the node no pod until the cloud's controller has taken its taint away, and the addresses and the provider ID that the controller has set stay, also when the kubelet is started again",
		"the cloud's controller is told of the addresses in --node-ip, and these stand in the Node object until it has set others",
	)
	p := startPlane(t)
	must(t, p.StartControllers())
	ip := machineAddress(t)
	w := &world{plane: p, node: startWith(t, map[string]any{"nodeStatusUpdateFrequency": "1s", "nodeStatusReportFrequency": "2s"},
		"--kubeconfig", p.kubeconfig(controlplane.Node), "--cloud-provider=external", "--node-ip", ip, "--eviction-hard", "nodefs.available<1%")}
	w.eventually("a node that waits for its cloud", func() bool {
		n, ok := get[corev1.Node](w.plane, nodePath)
		return ok && tainted(n) && nodeReady(n)
	})
	n, _ := get[corev1.Node](w.plane, nodePath)
	if n.Annotations[annotationGivenIPs] != ip || n.Spec.ProviderID != "" {
		t.Errorf("the controller is told of %q, want %q; the provider ID is %q, want none", n.Annotations[annotationGivenIPs], ip, n.Spec.ProviderID)
	}
	if !slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP && a.Address == ip }) {
		t.Errorf("the node's addresses are %v, want that of --node-ip among them", n.Status.Addresses)
	}

	w.kubectl("create", "deployment", "web", "--image=nodal.test/busybox:1", "--", "sh", "-c", "exec sleep 1000")
	w.eventually("a pod that cannot be scheduled, because of the taint", func() bool {
		list, _ := get[corev1.PodList](w.plane, podsPath)
		return len(list.Items) == 1 && list.Items[0].Spec.NodeName == "" && slices.ContainsFunc(list.Items[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
	given := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeExternalIP, Address: "203.0.113.9"}, {Type: corev1.NodeHostName, Address: "node-a"},
	}
	w.initialize("cloud://zone/9", given)
	w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	w.keeps("cloud://zone/9", given)
	w.node.Kill()
	w.node.Launch()
	w.keeps("cloud://zone/9", given)
}

// startWith runs a kubelet with additional settings.
func startWith(t *testing.T, settings map[string]any, flags ...string) *daemon.Daemon {
	t.Helper()
	kubelet, err := agent.Build(t.TempDir())
	must(t, err)
	rt := rig.Containerd(t)
	return daemon.StartWith(t, agent.Config{
		Dir: filepath.Join(rt.Dir, "node"), Binary: kubelet, Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent, Settings: settings, Flags: flags,
	})
}

// machineAddress returns an address of this machine that others reach.
func machineAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("the machine has no address but those of loopback")
	return ""
}

func tainted(n corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitialized })
}

func nodeReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// initialize does with the Node object what a cloud's controller does.
func (w *world) initialize(provider string, addresses []corev1.NodeAddress) {
	w.t.Helper()
	text, err := json.Marshal(addresses)
	must(w.t, err)
	w.ask("PATCH", nodePath+"/status", "application/merge-patch+json", fmt.Sprintf(`{"status": {"addresses": %s}}`, text))
	n, _ := get[corev1.Node](w.plane, nodePath)
	left := slices.DeleteFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitialized })
	taints, err := json.Marshal(append([]corev1.Taint{}, left...))
	must(w.t, err)
	w.ask("PATCH", nodePath, "application/merge-patch+json", fmt.Sprintf(`{"spec": {"providerID": %q, "taints": %s}}`, provider, taints))
}

// keeps waits for two more reports of the node, and checks that the node has left alone what is the cloud's.
func (w *world) keeps(provider string, addresses []corev1.NodeAddress) {
	w.t.Helper()
	for range 2 {
		before, _ := get[corev1.Node](w.plane, nodePath)
		w.eventually("another report of the node", func() bool {
			n, _ := get[corev1.Node](w.plane, nodePath)
			return nodeReady(n) && heartbeat(n).After(heartbeat(before))
		})
	}
	n, _ := get[corev1.Node](w.plane, nodePath)
	if !slices.Equal(n.Status.Addresses, addresses) || n.Spec.ProviderID != provider || tainted(n) {
		w.t.Errorf("the node has the addresses %v, the provider ID %q and the taints %v, want those of its cloud, and no taint of it", n.Status.Addresses, n.Spec.ProviderID, n.Spec.Taints)
	}
}

func heartbeat(n corev1.Node) (last time.Time) {
	for _, c := range n.Status.Conditions {
		if c.LastHeartbeatTime.After(last) {
			last = c.LastHeartbeatTime.Time
		}
	}
	return last
}
