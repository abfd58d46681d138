package admit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resources "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"nodal/node"
	"nodal/node/users"
)

// Node is what this node offers to pods.
type Node struct {
	Name        string
	Labels      map[string]string
	Capacity    corev1.ResourceList // of the machine
	Allocatable corev1.ResourceList // by pods; what is not listed is not counted
	Taints      []corev1.Taint

	UnsafeSysctls []string // that pods may set; one that ends in a star is a beginning
	AppArmor      bool     // the kernel enforces its profiles

	Users users.Pool // for pods that do not share the host's
}

// Check says why the node refuses a pod beside the others that run on it or are
// about to; nil when it takes the pod.
func (n Node) Check(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	for _, check := range []func(*corev1.Pod, []*corev1.Pod) *node.Refusal{n.place, ports, n.room, n.taints, n.sysctls, n.apparmor} {
		if refusal := check(pod, others); refusal != nil {
			refusal.Message = "Pod was rejected: " + refusal.Message
			return refusal
		}
	}
	return nil
}

// place holds the pod's node selector and required affinity against the node.
func (n Node) place(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	self := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	// A selector that cannot be read matches nothing.
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(self); !ok || err != nil {
		return predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	return nil
}

// taints refuses a pod that would have to go again for a taint of the node. A static
// pod tolerates all of those: it is given that when it is read.
func (n Node) taints(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	evicts := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	silent := klog.Logger{} // it would be told of numbers that are none
	if _, found := scheduling.FindMatchingUntoleratedTaint(silent, n.Taints, pod.Spec.Tolerations, evicts, true); found {
		return predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return nil
}

func predicate(name, why string) *node.Refusal {
	return &node.Refusal{Reason: name, Message: fmt.Sprintf("Predicate %s failed: %s", name, why)}
}

// ports refuses a pod that wants a port of the host that another pod has.
func ports(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	wanted := hostPorts(pod)
	if len(wanted) == 0 {
		return nil
	}
	for _, other := range others {
		for _, has := range hostPorts(other) {
			for _, wants := range wanted {
				if wants.collides(has) {
					return predicate("NodePorts", fmt.Sprintf("pod %s has host port %s", node.KeyOf(other), has))
				}
			}
		}
	}
	return nil
}

// hostPort is a port of the host; without an address it is that of all.
type hostPort struct {
	protocol corev1.Protocol
	ip       string
	port     int32
}

func (p hostPort) String() string {
	if p.ip == "" {
		return fmt.Sprintf("%d/%s", p.port, p.protocol)
	}
	return fmt.Sprintf("%s:%d/%s", p.ip, p.port, p.protocol)
}

func (p hostPort) collides(other hostPort) bool {
	return p.port == other.port && p.protocol == other.protocol &&
		(p.ip == other.ip || p.ip == "" || other.ip == "")
}

// hostPorts are taken by containers that stay: what an ordinary init container
// takes, it gives back.
func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	take := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			taken := hostPort{protocol: p.Protocol, ip: p.HostIP, port: p.HostPort}
			if taken.ip == "0.0.0.0" || taken.ip == "::" {
				taken.ip = ""
			}
			ports = append(ports, taken)
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			take(c)
		}
	}
	for i := range pod.Spec.Containers {
		take(&pod.Spec.Containers[i])
	}
	return ports
}

// counted are the resources that a pod asks for and a node runs out of.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// room refuses a pod for which something would have to be given twice.
func (n Node) room(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	if most, ok := n.Allocatable[corev1.ResourcePods]; ok && int64(len(others)) >= most.Value() {
		return outOf(corev1.ResourcePods, 1, int64(len(others)), most.Value())
	}
	wanted := resources.PodRequests(pod, resources.PodResourcesOptions{})
	used := corev1.ResourceList{}
	for _, name := range append(hugePages(wanted), counted...) {
		offered, bounded := n.offered(name)
		wants, asked := wanted[name]
		if !bounded || !asked || wants.IsZero() {
			continue
		}
		if len(used) == 0 {
			used = requestsOf(others)
		}
		if has := amount(name, used[name]); amount(name, wants)+has > amount(name, offered) {
			return outOf(name, amount(name, wants), has, amount(name, offered))
		}
	}
	return nil
}

// hugePages are the sizes that are asked for.
func hugePages(wanted corev1.ResourceList) []corev1.ResourceName {
	sizes := slices.Sorted(maps.Keys(wanted))
	return slices.DeleteFunc(sizes, func(name corev1.ResourceName) bool {
		return !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
}

// offered is how much there is, where that is counted. Of huge pages a machine has
// none unless it says so.
func (n Node) offered(name corev1.ResourceName) (resource.Quantity, bool) {
	offered, listed := n.Allocatable[name]
	return offered, listed || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// Resize says why the node does not give a pod that it runs what the pod asks for
// now: another may go and leave room for it, or it never fits.
func (n Node) Resize(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	wanted := resources.PodRequests(pod, resources.PodResourcesOptions{})
	for _, name := range counted {
		offered, bounded := n.Allocatable[name]
		if wants := wanted[name]; bounded && amount(name, wants) > amount(name, offered) {
			return &node.Refusal{Reason: corev1.PodReasonInfeasible, Message: fmt.Sprintf(
				"Node didn't have enough capacity: %s, requested: %d, capacity: %d", name, amount(name, wants), amount(name, offered))}
		}
	}
	if refusal := n.room(pod, others); refusal != nil {
		return &node.Refusal{Reason: corev1.PodReasonDeferred, Message: refusal.Message}
	}
	return nil
}

func requestsOf(pods []*corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(len(pods)), resource.DecimalSI)}
	for _, pod := range pods {
		for name, quantity := range resources.PodRequests(pod, resources.PodResourcesOptions{}) {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}

// amount is in thousandths of a CPU, and in whole units of anything else.
func amount(name corev1.ResourceName, quantity resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func outOf(name corev1.ResourceName, wanted, used, capacity int64) *node.Refusal {
	return &node.Refusal{
		Reason: "OutOf" + string(name),
		Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			name, wanted, used, capacity),
	}
}
