package rules

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DaemonSet returns the rules that a defaulted DaemonSet breaks.
func DaemonSet(d *appsv1.DaemonSet) field.ErrorList {
	c := workload(&d.ObjectMeta)
	c.count("minReadySeconds", &d.Spec.MinReadySeconds)
	c.count("revisionHistoryLimit", d.Spec.RevisionHistoryLimit)
	c.daemonStrategy(&d.Spec.UpdateStrategy)
	if d.Spec.Selector != nil {
		c.selector(d.Spec.Selector, &d.Spec.Template)
	} else {
		c.bad(specPath.Child("template", "metadata", "labels"), "", "`selector` does not match template `labels`")
	}
	c.forever(&d.Spec.Template)
	return c.errs
}

func (c workloadCheck) daemonStrategy(how *appsv1.DaemonSetUpdateStrategy) {
	at := specPath.Child("updateStrategy")
	oneOf(c.check, at, how.Type, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
	rolling := how.RollingUpdate
	if rolling == nil || how.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return
	}
	at = at.Child("rollingUpdate")
	c.part(at.Child("maxUnavailable"), rolling.MaxUnavailable)
	c.part(at.Child("maxSurge"), rolling.MaxSurge)
	switch away, more := !none(rolling.MaxUnavailable), !none(rolling.MaxSurge); {
	case away && more:
		c.bad(at.Child("maxSurge"), rolling.MaxSurge.String(), "may not be set when maxUnavailable is non-zero")
	case !away && !more:
		c.missing(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
	}
}

// ControllerRevision returns the rules that a ControllerRevision breaks.
func ControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	c := &check{errs: metaOf(&r.ObjectMeta, true)}
	at := field.NewPath("data")
	fields := map[string]any{}
	switch {
	case len(r.Data.Raw) == 0:
		c.missing(at, "data is mandatory")
	case json.Unmarshal(r.Data.Raw, &fields) != nil:
		c.bad(at, "", "must be a JSON object")
	}
	c.notNegative(field.NewPath("revision"), r.Revision)
	return c.errs
}
