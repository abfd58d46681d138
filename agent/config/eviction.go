package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/health"
)

// evictionRules returns the thresholds of settings that validateEviction has checked, ordered by signal. If all pods
// together are held to a limit, the hard threshold of memory holds for what that limit leaves too, as in Kubernetes.
func evictionRules(k *kubelet.KubeletConfiguration, held bool) []health.Rule {
	var rules []health.Rule
	add := func(setting string, values map[string]string, graces map[string]string) {
		for signal, value := range values {
			least, _ := threshold(field.NewPath(setting).Key(signal), value)
			if least.Percent == 0 && least.Quantity.IsZero() || health.OfContainerFs(signal) {
				continue
			}
			reclaim, _ := threshold(field.NewPath("evictionMinimumReclaim").Key(signal), cmp.Or(k.EvictionMinimumReclaim[signal], "0"))
			grace, _ := time.ParseDuration(graces[signal])
			rule := health.Rule{Signal: signal, Least: least, Grace: grace, Reclaim: reclaim}
			rules = append(rules, rule)
			if held && setting == "evictionHard" && signal == health.MemoryAvailable {
				rule.Signal = health.AllocatableMemoryAvailable
				rules = append(rules, rule)
			}
		}
	}
	add("evictionHard", k.EvictionHard, nil)
	add("evictionSoft", k.EvictionSoft, k.EvictionSoftGracePeriod)
	slices.SortStableFunc(rules, func(a, b health.Rule) int {
		return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Grace, b.Grace))
	})
	return rules
}

// contradictions returns the soft thresholds that the hard one of their signal overtakes: what is left falls below the hard
// one first, and pods get no grace. Amounts and percentages are not compared.
func contradictions(rules []health.Rule) (all []Warning) {
	for _, soft := range rules {
		for _, hard := range rules {
			if soft.Signal != hard.Signal || soft.Grace == 0 || hard.Grace != 0 || (soft.Least.Percent > 0) != (hard.Least.Percent > 0) {
				continue
			}
			if soft.Least.Percent > hard.Least.Percent || soft.Least.Quantity.Cmp(hard.Least.Quantity) > 0 {
				continue
			}
			all = append(all, Warning{
				"evictionSoft[" + soft.Signal + "]",
				"has no effect: the threshold of evictionHard is not below it, and is crossed first",
				"raise it above that of evictionHard, or leave it out",
			})
		}
	}
	return all
}

// validateEviction checks the signals and values of the thresholds. Each soft one needs a grace period.
func validateEviction(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	for _, setting := range []struct {
		name   string
		values map[string]string
	}{
		{"evictionHard", k.EvictionHard}, {"evictionSoft", k.EvictionSoft},
		{"evictionMinimumReclaim", k.EvictionMinimumReclaim}, {"evictionSoftGracePeriod", k.EvictionSoftGracePeriod},
	} {
		for _, signal := range slices.Sorted(maps.Keys(setting.values)) {
			path, value := field.NewPath(setting.name).Key(signal), setting.values[signal]
			switch _, err := threshold(path, value); {
			case !slices.Contains(health.SignalNames(), signal):
				errs = append(errs, field.NotSupported(path, signal, health.SignalNames()))
			case setting.name == "evictionSoftGracePeriod":
				grace, err := time.ParseDuration(value)
				errs = append(errs, invalid(err == nil && grace >= 0, path, value, "must be a duration of at least 0, such as 1m30s")...)
			case err != nil:
				errs = append(errs, err)
			}
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[signal]; !ok {
			errs = append(errs, field.Required(field.NewPath("evictionSoftGracePeriod").Key(signal), "evictionSoft names the signal"))
		}
	}
	return errs
}

// threshold parses 100Mi, or 10%. 100% means nothing, as in Kubernetes: it cannot be left while the node does anything.
func threshold(path *field.Path, value string) (health.Threshold, *field.Error) {
	if text, ok := strings.CutSuffix(value, "%"); ok {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percent >= 0 && percent <= 100) { // NaN fails both comparisons
			return health.Threshold{}, field.Invalid(path, value, "must be a quantity, or a percentage between 0% and 100%")
		}
		if percent == 100 {
			percent = 0
		}
		return health.Threshold{Percent: percent}, nil
	}
	quantity, err := resource.ParseQuantity(value)
	if err != nil || quantity.Sign() < 0 {
		return health.Threshold{}, field.Invalid(path, value, "must be a quantity of at least 0, or a percentage")
	}
	return health.Threshold{Quantity: quantity}, nil
}

// defaultThresholds are those of evictionHard, as upstream has them.
func defaultThresholds() map[string]string {
	return map[string]string{
		health.MemoryAvailable: "100Mi", health.NodeFsAvailable: "10%", health.NodeFsInodesFree: "5%",
		health.ImageFsAvailable: "15%", health.ImageFsInodesFree: "5%",
	}
}

// mergeThresholds fills evictionHard with the defaults: those of all signals if it is not set, and those of the other
// signals if mergeDefaultEvictionSettings is.
func mergeThresholds(k *kubelet.KubeletConfiguration) {
	merge := k.MergeDefaultEvictionSettings != nil && *k.MergeDefaultEvictionSettings
	if k.EvictionHard != nil && !merge {
		return
	}
	all := defaultThresholds()
	maps.Copy(all, k.EvictionHard)
	k.EvictionHard = all
}
