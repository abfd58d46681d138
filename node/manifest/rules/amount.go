package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// amountCheck holds the rules of quantities, whatever they are given for.
type amountCheck struct{ *check }

// quantities checks names and amounts. Every list is walked in order, so that the
// same manifest always gets the same answer.
func (c amountCheck) quantities(list corev1.ResourceList, at *field.Path, known func(corev1.ResourceName) string) {
	for _, name := range sorted(list) {
		quantity, path := list[name], at.Key(Clip(string(name)))
		c.badEach(path, string(name), validation.IsQualifiedName(string(name)))
		if rule := known(name); rule != "" {
			c.bad(path, string(name), rule)
		}
		if quantity.Sign() < 0 {
			c.bad(path, quantity.String(), "must be greater than or equal to 0")
		}
		if !overcommits(name) && !node.IsHugePages(name) && quantity.MilliValue()%1000 != 0 {
			c.bad(path, quantity.String(), "must be an integer")
		}
		if rule := wholePages(name, quantity); rule != "" {
			c.bad(path, quantity.String(), rule)
		}
	}
}

// containerResource returns the rule that a resource name breaks in a container, or "".
func containerResource(name corev1.ResourceName) string {
	switch {
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, node.IsHugePages(name):
		return ""
	case !strings.Contains(string(name), "/"):
		return "must be cpu, memory, ephemeral-storage, hugepages-<size> or have a domain prefix"
	case strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		!strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix):
		return "must not begin with " + corev1.DefaultResourceRequestsPrefix
	}
	return ""
}

// podResource returns the rule that a resource name breaks for a whole pod, or "".
func podResource(name corev1.ResourceName) string {
	if node.IsPodResource(name) {
		return ""
	}
	return "must be cpu, memory or hugepages-<size> for a whole pod"
}

// overcommits reports whether more may be promised of a resource than there is.
func overcommits(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") && !node.IsHugePages(name)
}

// wholePages returns the rule that an amount of huge pages breaks, or "".
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

func (c amountCheck) requestsWithinLimits(r *corev1.ResourceRequirements, at *field.Path) {
	for _, name := range sorted(r.Requests) {
		request, path := r.Requests[name], at.Child("requests").Key(Clip(string(name)))
		limit, limited := r.Limits[name]
		switch {
		case !limited && !overcommits(name):
			c.missing(at.Child("limits").Key(Clip(string(name))), "must be given for a resource that cannot be overcommitted")
		case limited && !overcommits(name) && request.Cmp(limit) != 0:
			c.bad(path, request.String(), fmt.Sprintf("must be equal to the limit of %s", limit.String()))
		case limited && request.Cmp(limit) > 0:
			c.bad(path, request.String(), fmt.Sprintf("must be less than or equal to the limit of %s", limit.String()))
		}
	}
}

// hugePagesInCompany wants CPU or memory beside huge pages: the scheduler weighs the pod by those.
func (c amountCheck) hugePagesInCompany(r *corev1.ResourceRequirements, at *field.Path) {
	var huge, other bool
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		for name := range list {
			huge = huge || node.IsHugePages(name)
			other = other || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		}
	}
	if huge && !other {
		c.refused(at, "HugePages require cpu or memory")
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
