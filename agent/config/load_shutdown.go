package config

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
	"nodal/node/limit"
)

// The gates of a graceful shutdown.
const (
	gateShutdown           = "GracefulNodeShutdown"
	gateShutdownByPriority = "GracefulNodeShutdownBasedOnPodPriority"
)

// resolveShutdown returns the phases of a shutdown. The two periods of the older form are two phases: that of all pods,
// and that of critical ones.
func resolveShutdown(o *Options) Shutdown {
	k := &o.Kubelet
	s := Shutdown{OnSIGTERM: o.ShutdownOnSIGTERM}
	whole, critical := k.ShutdownGracePeriod.Duration, k.ShutdownGracePeriodCriticalPods.Duration
	switch {
	case !gateOn(k, gateShutdown):
	case gateOn(k, gateShutdownByPriority) && len(k.ShutdownGracePeriodByPodPriority) > 0:
		for _, group := range k.ShutdownGracePeriodByPodPriority {
			s.Phases = append(s.Phases, node.ShutdownPhase{
				Priority: group.Priority, Period: node.Seconds(group.ShutdownGracePeriodSeconds),
			})
		}
		slices.SortFunc(s.Phases, func(a, b node.ShutdownPhase) int { return cmp.Compare(a.Priority, b.Priority) })
	case whole > 0:
		least, _ := limit.SystemPriority("system-cluster-critical") // of critical pods
		s.Phases = []node.ShutdownPhase{
			{Priority: 0, Period: (whole - critical).Truncate(time.Second)},
			{Priority: least, Period: critical.Truncate(time.Second)},
		}
	}
	return s
}

// validateShutdown refuses what upstream refuses, and phases that mean nothing.
func validateShutdown(o *Options) (errs field.ErrorList) {
	k := &o.Kubelet
	groups, path := k.ShutdownGracePeriodByPodPriority, field.NewPath("shutdownGracePeriodByPodPriority")
	whole, critical := k.ShutdownGracePeriod, k.ShutdownGracePeriodCriticalPods
	given := whole.Duration > 0 || critical.Duration > 0
	for _, period := range []struct {
		path *field.Path
		of   metav1.Duration
	}{
		{field.NewPath("shutdownGracePeriod"), whole}, {field.NewPath("shutdownGracePeriodCriticalPods"), critical},
	} {
		good := period.of.Duration == 0 || period.of.Duration >= time.Second
		errs = append(errs, invalid(good, period.path, period.of.Duration.String(), "must be 0 or at least 1s")...)
		on := period.of.Duration == 0 || gateOn(k, gateShutdown)
		errs = append(errs, invalid(on, period.path, period.of.Duration.String(), "needs the feature gate "+gateShutdown)...)
	}
	errs = append(errs, invalid(critical.Duration <= whole.Duration, field.NewPath("shutdownGracePeriodCriticalPods"),
		critical.Duration.String(), "must not exceed shutdownGracePeriod, of which it is a part")...)
	errs = append(errs, invalid(len(groups) == 0 || !given, path, len(groups),
		"must not be given together with shutdownGracePeriod")...)
	errs = append(errs, invalid(len(groups) == 0 || gateOn(k, gateShutdownByPriority), path, len(groups),
		"needs the feature gate "+gateShutdownByPriority)...)
	seen := map[int32]bool{}
	for i, group := range groups {
		at := path.Index(i)
		errs = append(errs, invalid(group.ShutdownGracePeriodSeconds >= 0, at.Child("shutdownGracePeriodSeconds"),
			group.ShutdownGracePeriodSeconds, "must be at least 0")...)
		if seen[group.Priority] {
			errs = append(errs, field.Duplicate(at.Child("priority"), group.Priority))
		}
		seen[group.Priority] = true
	}
	waits := len(resolveShutdown(o).Phases) > 0
	return append(errs, invalid(!o.ShutdownOnSIGTERM || waits, field.NewPath("--shutdown-on-sigterm"), true,
		"needs shutdownGracePeriod or shutdownGracePeriodByPodPriority")...)
}
