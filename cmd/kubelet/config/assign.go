package config

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node/assign"
)

// Assign says what of the machine containers may have for their own.
type Assign struct {
	CPUs    bool // whole ones, in pods that promise to stay within them
	Options assign.Options
}

const staticPolicy = "static"

// cpuOptions finds an option of the static policy by its name.
func cpuOptions(o *assign.Options) map[string]*bool {
	return map[string]*bool{
		"full-pcpus-only":                  &o.FullCores,
		"distribute-cpus-across-numa":      &o.AcrossNUMA,
		"strict-cpu-reservation":           &o.KeepReserved,
		"prefer-align-cpus-by-uncorecache": &o.AlignCaches,
	}
}

// resolveAssign takes settings that validateAssign has found to be sound.
func resolveAssign(k *kubelet.KubeletConfiguration) Assign {
	a := Assign{CPUs: k.CPUManagerPolicy == staticPolicy}
	known := cpuOptions(&a.Options)
	for name, value := range k.CPUManagerPolicyOptions {
		*known[name], _ = strconv.ParseBool(value)
	}
	return a
}

func validateAssign(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	if policies := []string{"none", staticPolicy}; !slices.Contains(policies, k.CPUManagerPolicy) {
		errs = append(errs, field.NotSupported(field.NewPath("cpuManagerPolicy"), k.CPUManagerPolicy, policies))
	}
	known := cpuOptions(&assign.Options{})
	for _, name := range slices.Sorted(maps.Keys(k.CPUManagerPolicyOptions)) {
		path, value := field.NewPath("cpuManagerPolicyOptions").Key(name), k.CPUManagerPolicyOptions[name]
		if _, err := strconv.ParseBool(value); err != nil {
			errs = append(errs, field.Invalid(path, value, "must be true or false"))
		}
		switch {
		case known[name] == nil:
			errs = append(errs, field.NotSupported(path, name, slices.Sorted(maps.Keys(known))))
		case k.CPUManagerPolicy != staticPolicy:
			errs = append(errs, field.Invalid(path, value, "is an option of cpuManagerPolicy static"))
		}
	}
	if k.ReservedSystemCPUs == "" {
		return errs
	}
	path := field.NewPath("reservedSystemCPUs")
	if cpus, err := cpuset.Parse(k.ReservedSystemCPUs); err != nil || cpus.IsEmpty() {
		errs = append(errs, field.Invalid(path, k.ReservedSystemCPUs, "must list CPUs as the kernel does, such as 0-1,8"))
	}
	return errs
}
