package spec

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node/limit"
)

// Node holds what a translation needs to know besides the pod: the node's settings, and the facts of its machine.
type Node struct {
	SeccompDefault bool              // a container that asks for no profile gets the runtime's
	SeccompDir     string            // holds Localhost profiles
	Sysctls        map[string]string // of pods that do not set them themselves
	DNS            DNS
	Services       func(namespace string) []*corev1.Service // whose addresses are variables; nil if the node has none
	Machine        Machine
}

// DNS is the cluster's part of what pods resolve names with.
type DNS struct {
	Servers []string // empty: ClusterFirst means Default
	Domain  string
}

// Machine is the part of the machine that containers learn about or are held to.
type Machine struct {
	Name          string              // of the node
	IPs           []string            // of the node, the primary one first
	Memory        int64               // bytes
	Allocatable   corev1.ResourceList // stands in for a limit that is not set
	HugePageSizes []string            // as the kernel has them: "2MB", "1GB"
	Swap          limit.Swap          // that containers may use
	SwapLimits    bool                // the kernel can hold containers to that
	OOMGroup      bool                // out of memory ends a container as a whole; needs cgroup v2
	Guards        bool                // the kernel can keep memory and slow processes down; needs cgroup v2
	Throttles     []string            // where its processors report heat, which is hidden from containers
}
