package rules

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// Bounds of a CSIDriver, in seconds.
const (
	shortestToken = 10 * 60
	longestToken  = 1 << 32
	shortestCount = 10 // between two updates of how many volumes a driver can have
)

// CSIDriver returns the rules that a defaulted CSIDriver breaks.
func CSIDriver(driver *storagev1.CSIDriver) field.ErrorList {
	c := &check{errs: metaOf(&driver.ObjectMeta, false)}
	spec, at := &driver.Spec, field.NewPath("spec")
	optionalOneOf(c, at.Child("fsGroupPolicy"), spec.FSGroupPolicy,
		storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy)
	for _, mode := range spec.VolumeLifecycleModes {
		oneOf(c, at.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)
	}
	if n := spec.NodeAllocatableUpdatePeriodSeconds; n != nil && *n < shortestCount {
		c.bad(at.Child("nodeAllocatableUpdatePeriodSeconds"), *n, fmt.Sprintf("must be greater than or equal to %d", shortestCount))
	}
	c.driverTokens(spec.TokenRequests, at.Child("tokenRequests"))
	switch {
	case len(spec.TokenRequests) == 0 && spec.ServiceAccountTokenInSecrets != nil:
		c.bad(at.Child("serviceAccountTokenInSecrets"), *spec.ServiceAccountTokenInSecrets, "must not be set without tokenRequests")
	case len(spec.TokenRequests) > 0 && !node.FromCluster(driver):
		c.refused(at.Child("tokenRequests"), "not supported by this node: there is no API server that gives out tokens")
	}
	return c.errs
}

// driverTokens checks the tokens that a driver wants of each pod.
func (c *check) driverTokens(requests []storagev1.TokenRequest, at *field.Path) {
	seen := map[string]bool{}
	for i, r := range requests {
		in := at.Index(i)
		if seen[r.Audience] {
			c.duplicate(in.Child("audience"), r.Audience)
			continue
		}
		seen[r.Audience] = true
		if r.ExpirationSeconds != nil {
			c.between(in.Child("expirationSeconds"), *r.ExpirationSeconds, shortestToken, longestToken)
		}
	}
}
