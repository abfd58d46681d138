package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

var reservationPolicies = []string{
	string(kubelet.NoneMemoryReservationPolicy), string(kubelet.TieredReservationMemoryReservationPolicy),
}

// formerThrottle was the default of memoryThrottlingFactor before Kubernetes 1.37. Files that older tools have written
// hold it, whether the gate is on or not.
const formerThrottle = 0.9

// part allows numbers above 0, up to 1.
func part(path *field.Path, value reflect.Value) field.ErrorList {
	if value.Kind() != reflect.Float64 {
		return nil // it is not set
	}
	f := value.Float()
	return invalid(0 < f && f <= 1, path, f, "must be above 0 and at most 1")
}

// notOfPods refuses a cgroup among those of pods: what is in them ends with the pod.
func notOfPods(path *field.Path, value reflect.Value) field.ErrorList {
	words := strings.Split(strings.ReplaceAll(value.String(), ".slice", ""), "/")
	return invalid(!slices.Contains(words, "kubepods"), path, value.String(), "must not be among the cgroups of pods")
}

// validateSystem refuses what upstream refuses.
func validateSystem(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	if k.SystemCgroups == "" {
		return nil
	}
	at := field.NewPath("systemCgroups")
	errs = append(errs, invalid(k.CgroupRoot != "", at, k.SystemCgroups, "needs cgroupRoot")...)
	return append(errs, invalid(strings.Trim(k.SystemCgroups, "/") != "", at, k.SystemCgroups, "must be below the top")...)
}

// reservedPercent returns qosReserved[memory], or zero if it is not in force.
func reservedPercent(k *kubelet.KubeletConfiguration) int64 {
	if !gateOn(k, qosReserved) {
		return 0
	}
	percent, _ := parsePercent(k.QOSReserved[string(corev1.ResourceMemory)]) // validateReserve has checked it
	return percent
}

// parsePercent reads "50%".
func parsePercent(text string) (int64, bool) {
	number, found := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseInt(number, 10, 64)
	return percent, found && err == nil && percent >= 0 && percent <= 100
}

func validateReserve(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(k.QOSReserved)) {
		at, text := field.NewPath("qosReserved").Key(name), k.QOSReserved[name]
		if name != string(corev1.ResourceMemory) {
			errs = append(errs, field.NotSupported(at, name, []corev1.ResourceName{corev1.ResourceMemory}))
			continue
		}
		_, good := parsePercent(text)
		errs = append(errs, invalid(good, at, text, "must be from 0% to 100%")...)
	}
	return errs
}

// throttle returns memoryThrottlingFactor, or zero if it is not in force.
func throttle(k *kubelet.KubeletConfiguration) float64 {
	if k.MemoryThrottlingFactor == nil || !gateOn(k, memoryQoS) {
		return 0
	}
	return *k.MemoryThrottlingFactor
}

// validateMemory refuses what needs the gate without it, as upstream does.
func validateMemory(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	if gateOn(k, memoryQoS) {
		return nil
	}
	const rule = "needs the feature gate MemoryQoS; turn that on, or leave this out"
	if f := k.MemoryThrottlingFactor; f != nil && *f != formerThrottle {
		errs = append(errs, field.Invalid(field.NewPath("memoryThrottlingFactor"), *f, rule))
	}
	if p := k.MemoryReservationPolicy; p == kubelet.TieredReservationMemoryReservationPolicy {
		errs = append(errs, field.Invalid(field.NewPath("memoryReservationPolicy"), p, rule))
	}
	return errs
}

// withoutGates returns settings of cgroups that are set while their gates are off.
func withoutGates(k *kubelet.KubeletConfiguration) (all []Unmet) {
	if k.MemoryThrottlingFactor != nil && !gateOn(k, memoryQoS) {
		all = append(all, Unmet{"memoryThrottlingFactor", "without the feature gate MemoryQoS no container is slowed down"})
	}
	if len(k.QOSReserved) > 0 && !gateOn(k, qosReserved) {
		all = append(all, Unmet{"qosReserved", "without the feature gate QOSReserved pods of every class may use all the memory " +
			"that there is for pods"})
	}
	return all
}
