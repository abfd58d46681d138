package evict

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/health"
	"nodal/node/store"
)

// Candidate is a pod that may be evicted for a resource, with what it uses of it.
type Candidate struct {
	*node.Pod
	Use *node.PodUse // nil if it is not known
}

// Candidates returns the pods that may be evicted. Static and critical pods are not, as in Kubernetes: the node or its
// cluster cannot do without them. A pod that ends already stays with its reason.
func Candidates(views []store.View) (pods []*node.Pod) {
	for _, v := range views {
		switch {
		case v.Gone || v.Slot == nil || v.Slot.Newer || v.Slot.Closed() || v.Slot.Pod.Deletion != nil:
		case v.Slot.Pod.Source == node.SourceRuntime || admit.Critical(v.Slot.Pod):
		default:
			pods = append(pods, v.Slot.Pod)
		}
	}
	return pods
}

// With pairs pods with what they use. A pod that is known to use nothing is left out: its end would free nothing.
func With(pods []*node.Pod, use map[types.UID]node.PodUse) (all []Candidate) {
	for _, pod := range pods {
		c := Candidate{Pod: pod}
		if used, known := use[pod.UID()]; known {
			c.Use = &used
		}
		if c.Use == nil || c.Use.Total > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Rank orders the candidates for the eviction of one, in Kubernetes' order: first those that use more than they
// request, then those of lower priority, then those that exceed their requests by most. Nothing is requested of
// processes, so these are ordered by priority and number.
//
// Unlike in Kubernetes, a pod of which the use is not known comes last: nothing says that its end would help.
func Rank(of corev1.ResourceName, pods []Candidate) []Candidate {
	ranked := slices.Clone(pods)
	slices.SortStableFunc(ranked, func(a, b Candidate) int {
		order := []int{ahead(a.Use != nil, b.Use != nil)}
		if of != health.PIDs {
			order = append(order, ahead(a.over(of) > 0, b.over(of) > 0))
		}
		order = append(order, cmp.Compare(priority(a), priority(b)), cmp.Compare(b.over(of), a.over(of)), a.Key().Compare(b.Key()))
		return cmp.Or(order...)
	})
	return ranked
}

// ahead orders a before b if only a has a property.
func ahead(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func priority(c Candidate) int32 {
	if p := c.Object.Spec.Priority; p != nil {
		return *p
	}
	return 0
}

// over returns how much more of a resource a pod uses than it requests.
func (c Candidate) over(of corev1.ResourceName) int64 {
	if c.Use == nil {
		return 0
	}
	request := c.request(of)
	return c.Use.Total - request.Value()
}

// request returns the resources that a pod is given. Kubernetes has no requests of inodes and processes.
func (c Candidate) request(of corev1.ResourceName) resource.Quantity {
	if of != corev1.ResourceMemory && of != corev1.ResourceEphemeralStorage {
		return resource.Quantity{}
	}
	return resources.PodRequests(c.Allocated(), resources.PodResourcesOptions{})[of]
}

// Why says in words what decides about the rank of a pod.
func (c Candidate) Why(of corev1.ResourceName) string {
	rank := fmt.Sprintf("priority %d", priority(c))
	if c.Use == nil {
		return "what it uses is not known; " + rank
	}
	used, request := health.Amount(of, c.Use.Total), c.request(of)
	switch over := c.over(of); {
	case of == health.PIDs:
		return fmt.Sprintf("runs %s tasks; %s", used, rank)
	case of == health.Inodes:
		return fmt.Sprintf("has %s inodes; %s", used, rank)
	case request.IsZero():
		return fmt.Sprintf("uses %s and requests nothing; %s", used, rank)
	case over > 0:
		return fmt.Sprintf("uses %s, which is %s more than it requests; %s", used, health.Amount(of, over), rank)
	}
	return fmt.Sprintf("uses %s of the %s that it requests; %s", used, &request, rank)
}

// shown returns the candidate as readers see it.
func (c Candidate) shown(of corev1.ResourceName) node.EvictionCandidate {
	request := c.request(of)
	e := node.EvictionCandidate{
		Key: c.Key(), UID: c.UID(), Requested: request.String(), Priority: priority(c), Why: c.Why(of),
	}
	if c.Use != nil {
		e.Used = health.Amount(of, c.Use.Total)
	}
	return e
}
