package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
)

// rules returns the rules by which a small machine assigns CPUs.
func rules() *assign.Rules {
	return &assign.Rules{
		Topology: assign.Topology{{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}},
		Static:   true, Reserved: cpuset.New(0),
	}
}

// owning makes a container ask for a CPU of its own, in a pod of the Guaranteed class.
func (c *clients) owning(pod *corev1.Pod) {
	for spec := range specs(pod) {
		cpu := "100m"
		if spec.Name == "a" {
			cpu = "1"
		}
		spec.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}}
	}
}

// apart checks that no two pods own the same CPU. It ignores effects of calls that the agent had
// given up.
func (wi *witness) apart(w *world) {
	for i, one := range w.containers {
		for _, other := range w.containers[:i] {
			if one.uid != other.uid && one.holds() && other.holds() && overlap(one.limits.CPUs, other.limits.CPUs) {
				wi.failf("%s has CPUs %s for its own, and %s has %s", one, one.limits.CPUs, other, other.limits.CPUs)
			}
		}
	}
}

func (c *container) holds() bool { return c.owns && !c.late && c.running() }

func overlap(a, b string) bool {
	one, _ := cpuset.Parse(a)
	other, _ := cpuset.Parse(b)
	return !one.Intersection(other).IsEmpty()
}

// disown drops the CPUs, devices and claims of a pod whose record was lost.
func (s *simulation) disown(key node.Key) {
	s.tools.lost = true
	for _, c := range s.containers {
		if c.key == key {
			c.owns, c.devices, c.claim = false, nil, ""
		}
	}
}
