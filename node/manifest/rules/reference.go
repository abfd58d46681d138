package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// fieldRef checks a reference to one of the pod's own fields: one of allowed, or
// one label or annotation by its key.
func (c *check) fieldRef(ref *corev1.ObjectFieldSelector, at *field.Path, allowed ...string) {
	if ref.APIVersion != "v1" {
		c.bad(at.Child("apiVersion"), ref.APIVersion, "must be v1")
	}
	path := at.Child("fieldPath")
	if ref.FieldPath == "" {
		c.missing(path, "")
		return
	}
	if base, key, ok := subscript(ref.FieldPath); ok {
		switch base {
		case "metadata.labels":
			c.badEach(path, ref.FieldPath, validation.IsQualifiedName(key))
		case "metadata.annotations":
			c.badEach(path, ref.FieldPath, validation.IsQualifiedName(strings.ToLower(key)))
		default:
			c.bad(path, ref.FieldPath, "must not have a subscript: only metadata.labels and metadata.annotations do")
		}
		return
	}
	if !slices.Contains(allowed, ref.FieldPath) {
		c.errs = append(c.errs, field.NotSupported(path, Clip(ref.FieldPath), allowed))
	}
}

// subscript takes metadata.labels['key'] apart.
func subscript(path string) (base, key string, ok bool) {
	trimmed, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	return strings.Cut(trimmed, "['")
}

// resourceFieldRef checks a reference to a container's request or limit.
func (c *check) resourceFieldRef(ref *corev1.ResourceFieldSelector, at *field.Path) {
	c.given(at.Child("resource"), ref.Resource)
	divisors := []string{"0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	switch kind, resource, _ := strings.Cut(ref.Resource, "."); {
	case ref.Resource == "":
		return
	case kind != "limits" && kind != "requests":
		c.bad(at.Child("resource"), ref.Resource, "must start with limits. or requests.")
		return
	case resource == "cpu":
		divisors = []string{"0", "1", "1m"}
	case resource != "memory" && resource != "ephemeral-storage" && !node.IsHugePages(corev1.ResourceName(resource)):
		c.bad(at.Child("resource"), ref.Resource, "must name cpu, memory, ephemeral-storage or hugepages-<size>")
		return
	}
	divisor := ref.Divisor // a copy: String keeps its text in the quantity
	if !slices.Contains(divisors, divisor.String()) {
		c.bad(at.Child("divisor"), divisor.String(), "must be one of "+strings.Join(divisors[1:], ", "))
	}
}
