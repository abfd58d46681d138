package rules

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Lease returns the rules that a Lease breaks.
func Lease(lease *coordinationv1.Lease) field.ErrorList {
	c, in, spec := &check{errs: metaOf(&lease.ObjectMeta, true)}, field.NewPath("spec"), lease.Spec
	if d := spec.LeaseDurationSeconds; d != nil && *d <= 0 {
		c.bad(in.Child("leaseDurationSeconds"), *d, "must be greater than 0")
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		c.bad(in.Child("leaseTransitions"), *n, "must be at least 0")
	}
	if spec.Strategy != nil || spec.PreferredHolder != nil {
		c.refused(in, "strategy and preferredHolder are for a cluster that elects leaders itself; candidates on a node elect theirs by holderIdentity")
	}
	return c.errs
}
