package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// resources checks what a container asks for and may use.
func (c containerCheck) resources(r *corev1.ResourceRequirements, at *field.Path) {
	amounts := amountCheck{c.check}
	amounts.quantities(r.Limits, at.Child("limits"), containerResource)
	amounts.quantities(r.Requests, at.Child("requests"), containerResource)
	amounts.requestsWithinLimits(r, at)
	amounts.hugePagesInCompany(r, at)
	seen := map[string]bool{}
	for i, claim := range r.Claims {
		path := at.Child("claims").Index(i)
		c.given(path.Child("name"), claim.Name)
		c.optionalName(path.Child("request"), claim.Request, validation.IsDNS1123Label)
		c.claimOnce(path, seen, claim)
		if !slices.ContainsFunc(c.pod.Spec.ResourceClaims, func(p corev1.PodResourceClaim) bool { return p.Name == claim.Name }) {
			c.errs = append(c.errs, field.NotFound(path.Child("name"), Clip(claim.Name)))
		}
	}
}

// claimOnce reports a claim that is there twice, or as a whole and in part.
func (c containerCheck) claimOnce(at *field.Path, seen map[string]bool, claim corev1.ResourceClaim) {
	request := claim.Name + "/" + claim.Request
	whole, part := seen[claim.Name+"/"], claim.Request == "" && seen[claim.Name]
	if seen[request] || whole || part {
		c.duplicate(at, request)
	}
	seen[request], seen[claim.Name] = true, true
}

// podResources checks what is given for the pod as a whole against its containers.
func (c podCheck) podResources(at *field.Path) {
	spec := &c.pod.Spec
	amounts := amountCheck{c.check}
	amounts.quantities(spec.Overhead, field.NewPath("spec", "overhead"), containerResource)
	r := spec.Resources
	if r == nil {
		return
	}
	if len(r.Claims) > 0 {
		c.refused(at.Child("claims"), "may not be set for a whole pod")
	}
	amounts.quantities(r.Limits, at.Child("limits"), podResource)
	amounts.quantities(r.Requests, at.Child("requests"), podResource)
	amounts.requestsWithinLimits(r, at)
	amounts.hugePagesInCompany(r, at)
	sum := node.AtOnce(spec, node.RequestsOf)
	for _, name := range sorted(sum) {
		needed, given := sum[name], r.Requests[name]
		if node.IsPodResource(name) && needed.Cmp(given) > 0 {
			c.bad(at.Child("requests").Key(string(name)), given.String(),
				fmt.Sprintf("must be greater than or equal to the containers' requests of %s", needed.String()))
		}
	}
	for i := range spec.Containers {
		limits := spec.Containers[i].Resources.Limits
		for _, name := range sorted(limits) {
			limit := limits[name]
			if most, ok := r.Limits[name]; ok && limit.Cmp(most) > 0 {
				c.bad(field.NewPath("spec", "containers").Index(i).Child("resources", "limits").Key(string(name)),
					limit.String(), fmt.Sprintf("must be less than or equal to the pod's limit of %s", most.String()))
			}
		}
	}
}
