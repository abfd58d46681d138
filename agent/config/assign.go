package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node/assign"
)

// Assign holds which CPUs and memory containers may have to themselves.
type Assign struct {
	CPUs    bool // exclusive CPUs for containers of Guaranteed pods
	Options assign.Options

	Memory    bool          // of chosen NUMA nodes, for containers of Guaranteed pods
	Kept      assign.Memory // reserved memory of each NUMA node
	Align     assign.Align
	WholePods bool
	Closest   bool // prefers the closest of equally good sets of NUMA nodes
	MostNodes int  // limit of NUMA nodes; the choices grow exponentially with them
}

const staticPolicy = "static"

// topologyPolicies are the policies of the topology manager.
var topologyPolicies = []string{
	kubelet.NoneTopologyManagerPolicy, kubelet.BestEffortTopologyManagerPolicy,
	kubelet.RestrictedTopologyManagerPolicy, kubelet.SingleNumaNodeTopologyManagerPolicy,
}

// mostNodes is upstream's default limit of NUMA nodes.
const mostNodes = 8

// The options of the topology manager.
const (
	maxNodes     = "max-allowable-numa-nodes" // replaces mostNodes
	closestNodes = "prefer-closest-numa-nodes"
)

// cpuOptions returns the options of the static policy by their names.
func cpuOptions(o *assign.Options) map[string]*bool {
	return map[string]*bool{
		"full-pcpus-only":                  &o.FullCores,
		"distribute-cpus-across-numa":      &o.AcrossNUMA,
		"align-by-socket":                  &o.AlignSocket,
		"strict-cpu-reservation":           &o.KeepReserved,
		"prefer-align-cpus-by-uncorecache": &o.AlignCaches,
		"distribute-cpus-across-cores":     &o.AcrossCores,
	}
}

// resolveAssign reads settings that validateAssign has checked.
func resolveAssign(k *kubelet.KubeletConfiguration) Assign {
	a := Assign{
		CPUs: k.CPUManagerPolicy == staticPolicy, Memory: k.MemoryManagerPolicy == kubelet.StaticMemoryManagerPolicy,
		Align: assign.Align(k.TopologyManagerPolicy), WholePods: k.TopologyManagerScope == kubelet.PodTopologyManagerScope,
		Kept: assign.Memory{}, MostNodes: mostNodes,
	}
	for _, r := range k.ReservedMemory {
		amounts := assign.Amounts{}
		for name, quantity := range r.Limits {
			amounts[name] = quantity.Value()
		}
		a.Kept[int(r.NumaNode)] = amounts
	}
	if value, ok := k.TopologyManagerPolicyOptions[maxNodes]; ok {
		a.MostNodes, _ = strconv.Atoi(value)
	}
	a.Closest, _ = strconv.ParseBool(k.TopologyManagerPolicyOptions[closestNodes])
	known := cpuOptions(&a.Options)
	for name, value := range k.CPUManagerPolicyOptions {
		*known[name], _ = strconv.ParseBool(value)
	}
	return a
}

func validateAssign(k *kubelet.KubeletConfiguration) field.ErrorList {
	errs := validateTopology(k)
	chosen := assign.Options{}
	known := cpuOptions(&chosen)
	for _, name := range slices.Sorted(maps.Keys(k.CPUManagerPolicyOptions)) {
		path, value := field.NewPath("cpuManagerPolicyOptions").Key(name), k.CPUManagerPolicyOptions[name]
		on, err := strconv.ParseBool(value)
		if err != nil {
			errs = append(errs, field.Invalid(path, value, "must be true or false"))
		}
		if to := known[name]; to != nil {
			*to = on
		}
		switch {
		case known[name] == nil:
			errs = append(errs, field.NotSupported(path, name, slices.Sorted(maps.Keys(known))))
		case k.CPUManagerPolicy != staticPolicy:
			errs = append(errs, field.Invalid(path, value, "needs cpuManagerPolicy: static"))
		}
	}
	if chosen.AcrossCores && (chosen.FullCores || chosen.AcrossNUMA || chosen.AlignCaches) {
		errs = append(errs, field.Invalid(field.NewPath("cpuManagerPolicyOptions").Key("distribute-cpus-across-cores"), "true",
			"cannot be combined with full-pcpus-only, distribute-cpus-across-numa or prefer-align-cpus-by-uncorecache"))
	}
	if k.ReservedSystemCPUs == "" {
		return errs
	}
	path := field.NewPath("reservedSystemCPUs")
	if cpus, err := cpuset.Parse(k.ReservedSystemCPUs); err != nil || cpus.IsEmpty() {
		errs = append(errs, field.Invalid(path, k.ReservedSystemCPUs, "must be a list of CPUs, such as 0-1,8"))
	}
	return errs
}

func validateTopology(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	for name, value := range k.TopologyManagerPolicyOptions {
		path := field.NewPath("topologyManagerPolicyOptions").Key(name)
		if n, err := strconv.Atoi(value); name == maxNodes && (err != nil || n < mostNodes) {
			errs = append(errs, field.Invalid(path, value, fmt.Sprintf("must be a number, at least %d", mostNodes)))
		}
		if _, err := strconv.ParseBool(value); name == closestNodes && err != nil {
			errs = append(errs, field.Invalid(path, value, "must be true or false"))
		}
		if known := []string{closestNodes, maxNodes}; !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(field.NewPath("topologyManagerPolicyOptions"), name, known))
		}
	}
	seen := map[int32]bool{}
	for i, r := range k.ReservedMemory {
		path := field.NewPath("reservedMemory").Index(i)
		if seen[r.NumaNode] {
			errs = append(errs, field.Duplicate(path.Child("numaNode"), r.NumaNode))
		}
		seen[r.NumaNode] = true
		for name, quantity := range r.Limits {
			huge := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
			if name != corev1.ResourceMemory && !huge {
				errs = append(errs, field.NotSupported(path.Child("limits").Key(string(name)), name, []corev1.ResourceName{corev1.ResourceMemory, "hugepages-*"}))
			}
			if quantity.Sign() < 0 {
				errs = append(errs, field.Invalid(path.Child("limits").Key(string(name)), quantity.String(), "must be at least 0"))
			}
		}
	}
	return errs
}
