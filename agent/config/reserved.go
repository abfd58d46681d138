package config

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node/admit"
	"nodal/node/health"
)

// reservable lists the resources that kubeReserved and systemReserved may name.
var reservable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceEphemeralStorage, corev1.ResourceMemory, admit.PIDs}

// The groups of programs that can be held to limits.
const (
	holdSystem   = "system-reserved"
	holdKube     = "kube-reserved"
	compressible = "-compressible" // to the limit of CPU alone
)

var enforceable = []string{"none", "pods", holdSystem, holdKube, holdSystem + compressible, holdKube + compressible}

// resolveReserved reads settings that validateReserved has checked.
func resolveReserved(k *kubelet.KubeletConfiguration) Reserved {
	r := Reserved{HoldAll: slices.Contains(k.EnforceNodeAllocatable, "pods"), Eviction: map[string]health.Threshold{}}
	r.HoldKube, r.HoldSystem = held(k, holdKube, k.KubeReservedCgroup), held(k, holdSystem, k.SystemReservedCgroup)
	r.Kube, _ = quantities("kubeReserved", k.KubeReserved)
	r.System, _ = quantities("systemReserved", k.SystemReserved)
	if r.CPUs, _ = cpuset.Parse(k.ReservedSystemCPUs); !r.CPUs.IsEmpty() {
		delete(r.Kube, corev1.ResourceCPU) // the list replaces the amounts
		r.System[corev1.ResourceCPU] = *resource.NewQuantity(int64(r.CPUs.Size()), resource.DecimalSI)
	}
	for signal, value := range k.EvictionHard {
		r.Eviction[signal], _ = threshold(field.NewPath("evictionHard").Key(signal), value)
	}
	r.Rules, r.MaxPodGrace = evictionRules(k, r.HoldAll), time.Duration(k.EvictionMaxPodGracePeriod)*time.Second
	r.Shortage = max(0, k.EvictionPressureTransitionPeriod.Duration)
	return r
}

// held returns the cgroup of a group, and the limits that are enforced on it.
func held(k *kubelet.KubeletConfiguration, what, cgroup string) Held {
	all, some := slices.Contains(k.EnforceNodeAllocatable, what), slices.Contains(k.EnforceNodeAllocatable, what+compressible)
	return Held{Cgroup: cgroup, CPU: all || some, Rest: all}
}

// validateHeld checks that each enforced group names its cgroup and is given once.
func validateHeld(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	for _, h := range []struct{ what, name, cgroup string }{
		{holdKube, "kubeReservedCgroup", k.KubeReservedCgroup}, {holdSystem, "systemReservedCgroup", k.SystemReservedCgroup},
	} {
		all, some := slices.Contains(k.EnforceNodeAllocatable, h.what), slices.Contains(k.EnforceNodeAllocatable, h.what+compressible)
		switch path := field.NewPath(h.name); {
		case all && some:
			errs = append(errs, field.Invalid(field.NewPath("enforceNodeAllocatable"), k.EnforceNodeAllocatable, h.what+" and "+h.what+compressible+" cannot be combined"))
		case (all || some) && h.cgroup == "":
			errs = append(errs, field.Required(path, "enforceNodeAllocatable names it"))
		case (all || some) && k.ReservedSystemCPUs != "":
			errs = append(errs, field.Invalid(path, h.cgroup, "cannot be combined with reservedSystemCPUs"))
		}
	}
	return errs
}

func validateReserved(k *kubelet.KubeletConfiguration) field.ErrorList {
	_, errs := quantities("kubeReserved", k.KubeReserved)
	_, more := quantities("systemReserved", k.SystemReserved)
	errs = append(errs, more...)
	errs = append(errs, validateEviction(k)...)
	for i, what := range k.EnforceNodeAllocatable {
		path := field.NewPath("enforceNodeAllocatable").Index(i)
		switch {
		case !slices.Contains(enforceable, what):
			errs = append(errs, field.NotSupported(path, what, enforceable))
		case what == "none" && len(k.EnforceNodeAllocatable) > 1:
			errs = append(errs, field.Invalid(path, what, "cannot be combined with other values"))
		}
	}
	return append(errs, validateHeld(k)...)
}

// quantities parses the amounts of kubeReserved or systemReserved.
func quantities(name string, values map[string]string) (corev1.ResourceList, field.ErrorList) {
	list, errs := corev1.ResourceList{}, field.ErrorList(nil)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := field.NewPath(name).Key(key)
		if !slices.Contains(reservable, corev1.ResourceName(key)) {
			errs = append(errs, field.NotSupported(path, corev1.ResourceName(key), reservable))
			continue
		}
		quantity, err := resource.ParseQuantity(values[key])
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(path, values[key], err.Error()))
		case quantity.Sign() < 0:
			errs = append(errs, field.Invalid(path, values[key], "must be at least 0"))
		}
		list[corev1.ResourceName(key)] = quantity
	}
	return list, errs
}
