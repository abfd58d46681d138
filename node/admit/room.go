package admit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
)

// OutOf begins the reason of a refusal for a lack of a resource.
const OutOf = "OutOf"

// counted are the resources that every node has.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// room refuses a pod that requests more than the other pods leave.
func (n Node) room(pod *corev1.Pod, others []*corev1.Pod) *node.Refusal {
	if missing := n.shortages(pod, others); len(missing) > 0 {
		return missing[0].refusal()
	}
	return nil
}

// shortage is a resource of which a pod asks for more than others leave.
type shortage struct {
	name                   corev1.ResourceName
	wanted, used, capacity int64
}

func (s shortage) missing() int64 { return s.wanted + s.used - s.capacity }

func (s shortage) refusal() *node.Refusal {
	return &node.Refusal{
		Reason: OutOf + string(s.name),
		Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			s.name, s.wanted, s.used, s.capacity),
	}
}

// shortages lists the resources of which too little is left for a pod beside others.
func (n Node) shortages(pod *corev1.Pod, others []*corev1.Pod) (all []shortage) {
	if most, ok := n.Allocatable[corev1.ResourcePods]; ok && int64(len(others)) >= most.Value() {
		all = append(all, shortage{corev1.ResourcePods, 1, int64(len(others)), most.Value()})
	}
	wanted := resources.PodRequests(pod, resources.PodResourcesOptions{})
	used := corev1.ResourceList{}
	for _, name := range append(scalars(wanted), counted...) {
		offered, bounded := n.offered(name)
		wants, asked := wanted[name]
		if !bounded || !asked || wants.IsZero() || n.Assigned[name] {
			continue
		}
		if len(used) == 0 {
			used = requestsOf(others)
		}
		s := shortage{name, amount(name, wants), amount(name, used[name]), amount(name, offered)}
		if s.missing() > 0 {
			all = append(all, s)
		}
	}
	return all
}

// scalars lists what a pod asks for beside the resources that every node has: huge pages and extended resources.
func scalars(wanted corev1.ResourceList) []corev1.ResourceName {
	names := slices.Sorted(maps.Keys(wanted))
	return slices.DeleteFunc(names, func(name corev1.ResourceName) bool {
		return name == corev1.ResourcePods || slices.Contains(counted, name)
	})
}

// offered returns how much there is of a resource, if the node counts it. An extended resource that the node does not
// list is not counted, as in Kubernetes: it may be the cluster's. Of huge pages a machine has none unless it lists them.
func (n Node) offered(name corev1.ResourceName) (resource.Quantity, bool) {
	offered, listed := n.Allocatable[name]
	return offered, listed || node.IsHugePages(name)
}

// Resize returns why the node does not give a running pod the resources that it now asks for: they
// do not fit until another pod goes, or they never fit.
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

// amount converts a quantity to thousandths of a CPU, or to whole units of anything else. A
// quantity beyond that range counts as more than any machine has, with room for a sum.
func amount(name corev1.ResourceName, quantity resource.Quantity) int64 {
	const most = math.MaxInt64 / 2
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	if quantity.Cmp(*resource.NewScaledQuantity(most, scale)) > 0 {
		return most
	}
	return quantity.ScaledValue(scale)
}
