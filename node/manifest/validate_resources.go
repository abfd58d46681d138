package manifest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resources checks what a container asks for and may use.
func (c *check) resources(r *corev1.ResourceRequirements, at *field.Path) {
	c.quantities(r.Limits, at.Child("limits"), containerResource)
	c.quantities(r.Requests, at.Child("requests"), containerResource)
	c.requestsWithinLimits(r, at)
	c.hugePagesInCompany(r, at)
	seen := map[string]bool{}
	for i, claim := range r.Claims {
		path := at.Child("claims").Index(i)
		c.given(path.Child("name"), claim.Name)
		c.optionalName(path.Child("request"), claim.Request, validation.IsDNS1123Label)
		c.claimOnce(path, seen, claim)
		if !slices.ContainsFunc(c.pod.Spec.ResourceClaims, func(p corev1.PodResourceClaim) bool { return p.Name == claim.Name }) {
			c.errs = append(c.errs, field.NotFound(path.Child("name"), clip(claim.Name)))
		}
	}
}

// claimOnce reports a claim that is there twice, or as a whole and in part.
func (c *check) claimOnce(at *field.Path, seen map[string]bool, claim corev1.ResourceClaim) {
	request := claim.Name + "/" + claim.Request
	whole, part := seen[claim.Name+"/"], claim.Request == "" && seen[claim.Name]
	if seen[request] || whole || part {
		c.duplicate(at, request)
	}
	seen[request], seen[claim.Name] = true, true
}

// quantities checks names and amounts. Every list is walked in order, so that the
// same manifest always gets the same answer.
func (c *check) quantities(list corev1.ResourceList, at *field.Path, known func(corev1.ResourceName) string) {
	for _, name := range sorted(list) {
		quantity, path := list[name], at.Key(clip(string(name)))
		c.badEach(path, string(name), validation.IsQualifiedName(string(name)))
		if rule := known(name); rule != "" {
			c.bad(path, string(name), rule)
		}
		if quantity.Sign() < 0 {
			c.bad(path, quantity.String(), "must be greater than or equal to 0")
		}
		if !overcommits(name) && !isHugePages(name) && quantity.MilliValue()%1000 != 0 {
			c.bad(path, quantity.String(), "must be an integer")
		}
		if rule := wholePages(name, quantity); rule != "" {
			c.bad(path, quantity.String(), rule)
		}
	}
}

// containerResource is the rule a resource name breaks in a container, or "".
func containerResource(name corev1.ResourceName) string {
	switch {
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, isHugePages(name):
		return ""
	case !strings.Contains(string(name), "/"):
		return "must be cpu, memory, ephemeral-storage, hugepages-<size> or have a domain prefix"
	case strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		!strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix):
		return "must not begin with " + corev1.DefaultResourceRequestsPrefix
	}
	return ""
}

func podResource(name corev1.ResourceName) string {
	if podLevel(name) {
		return ""
	}
	return "must be cpu, memory or hugepages-<size> for a whole pod"
}

// overcommits reports whether more may be promised of a resource than there is.
func overcommits(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") && !isHugePages(name)
}

// wholePages is the rule an amount of huge pages breaks, or "".
func wholePages(name corev1.ResourceName, quantity resource.Quantity) string {
	size, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !ok {
		return ""
	}
	page, err := resource.ParseQuantity(size)
	if err != nil || page.Value() <= 0 {
		return "must name a page size, such as hugepages-2Mi"
	}
	if quantity.Value()%page.Value() != 0 {
		return "must be a multiple of the page size"
	}
	return ""
}

func (c *check) requestsWithinLimits(r *corev1.ResourceRequirements, at *field.Path) {
	for _, name := range sorted(r.Requests) {
		request, path := r.Requests[name], at.Child("requests").Key(clip(string(name)))
		limit, limited := r.Limits[name]
		switch {
		case !limited && !overcommits(name):
			c.missing(at.Child("limits").Key(clip(string(name))), "must be given for a resource that cannot be overcommitted")
		case limited && !overcommits(name) && request.Cmp(limit) != 0:
			c.bad(path, request.String(), fmt.Sprintf("must be equal to the limit of %s", limit.String()))
		case limited && request.Cmp(limit) > 0:
			c.bad(path, request.String(), fmt.Sprintf("must be less than or equal to the limit of %s", limit.String()))
		}
	}
}

// hugePagesInCompany: the scheduler needs something to weigh the pod by.
func (c *check) hugePagesInCompany(r *corev1.ResourceRequirements, at *field.Path) {
	var huge, other bool
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		for name := range list {
			huge = huge || isHugePages(name)
			other = other || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		}
	}
	if huge && !other {
		c.refused(at, "HugePages require cpu or memory")
	}
}

// podResources checks what is given for the pod as a whole against its containers.
func (c *check) podResources(at *field.Path) {
	spec := &c.pod.Spec
	c.quantities(spec.Overhead, field.NewPath("spec", "overhead"), containerResource)
	r := spec.Resources
	if r == nil {
		return
	}
	if len(r.Claims) > 0 {
		c.refused(at.Child("claims"), "may not be set for a whole pod")
	}
	c.quantities(r.Limits, at.Child("limits"), podResource)
	c.quantities(r.Requests, at.Child("requests"), podResource)
	c.requestsWithinLimits(r, at)
	c.hugePagesInCompany(r, at)
	sum := total(spec, requestsOf)
	for _, name := range sorted(sum) {
		needed, given := sum[name], r.Requests[name]
		if podLevel(name) && needed.Cmp(given) > 0 {
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

func sorted(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
