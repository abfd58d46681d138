package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Hidden replaces the values of variables in what viewers read. It is refused as a
// value, so that a manifest that a viewer has read cannot be posted by mistake.
const Hidden = "[hidden from viewers]"

func (c *check) env(container *corev1.Container, at *field.Path) {
	for i := range container.Env {
		env, path := &container.Env[i], at.Index(i)
		c.name(path.Child("name"), env.Name, validation.IsRelaxedEnvVarName)
		if env.Value == Hidden {
			c.bad(path.Child("value"), env.Value, "stands for a value that was not shown: give the value itself")
		}
		if env.ValueFrom == nil {
			continue
		}
		if env.Value != "" {
			c.bad(path.Child("valueFrom"), "", "may not be specified when value is not empty")
		}
		c.envSource(env.ValueFrom, path.Child("valueFrom"))
	}
}

func (c *check) envSource(from *corev1.EnvVarSource, at *field.Path) {
	c.exactlyOne(at,
		member{"fieldRef", from.FieldRef != nil}, member{"resourceFieldRef", from.ResourceFieldRef != nil},
		member{"configMapKeyRef", from.ConfigMapKeyRef != nil}, member{"secretKeyRef", from.SecretKeyRef != nil},
		member{"fileKeyRef", from.FileKeyRef != nil})
	if from.FieldRef != nil {
		c.fieldRef(from.FieldRef, at.Child("fieldRef"), "metadata.name", "metadata.namespace", "metadata.uid",
			"spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	}
	if from.ResourceFieldRef != nil {
		c.resourceFieldRef(from.ResourceFieldRef, at.Child("resourceFieldRef"))
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		c.keyRef(ref.Name, ref.Key, at.Child("configMapKeyRef"))
	}
	if ref := from.SecretKeyRef; ref != nil {
		c.keyRef(ref.Name, ref.Key, at.Child("secretKeyRef"))
	}
	if ref := from.FileKeyRef; ref != nil {
		c.fileKeyRef(ref, at.Child("fileKeyRef"))
	}
}

func (c *check) keyRef(name, key string, at *field.Path) {
	c.name(at.Child("name"), name, validation.IsDNS1123Subdomain)
	c.name(at.Child("key"), key, validation.IsConfigMapKey)
}

func (c *check) fileKeyRef(ref *corev1.FileKeySelector, at *field.Path) {
	c.given(at.Child("path"), ref.Path)
	c.noBacksteps(at.Child("path"), ref.Path)
	c.name(at.Child("key"), ref.Key, validation.IsRelaxedEnvVarName)
	c.given(at.Child("volumeName"), ref.VolumeName)
	volume, found := c.volumes[ref.VolumeName]
	switch {
	case ref.VolumeName == "":
	case !found:
		c.errs = append(c.errs, field.NotFound(at.Child("volumeName"), clip(ref.VolumeName)))
	case volume.EmptyDir == nil:
		c.bad(at.Child("volumeName"), ref.VolumeName, "must name an emptyDir volume")
	}
}

func (c *check) envFrom(sources []corev1.EnvFromSource, at *field.Path) {
	for i, source := range sources {
		path := at.Index(i)
		c.optionalName(path.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName)
		c.exactlyOne(path, member{"configMapRef", source.ConfigMapRef != nil}, member{"secretRef", source.SecretRef != nil})
		if source.ConfigMapRef != nil {
			c.name(path.Child("configMapRef", "name"), source.ConfigMapRef.Name, validation.IsDNS1123Subdomain)
		}
		if source.SecretRef != nil {
			c.name(path.Child("secretRef", "name"), source.SecretRef.Name, validation.IsDNS1123Subdomain)
		}
	}
}

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
		c.errs = append(c.errs, field.NotSupported(path, clip(ref.FieldPath), allowed))
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
	case resource != "memory" && resource != "ephemeral-storage" && !isHugePages(corev1.ResourceName(resource)):
		c.bad(at.Child("resource"), ref.Resource, "must name cpu, memory, ephemeral-storage or hugepages-<size>")
		return
	}
	if !slices.Contains(divisors, ref.Divisor.String()) {
		c.bad(at.Child("divisor"), ref.Divisor.String(), "must be one of "+strings.Join(divisors[1:], ", "))
	}
}
