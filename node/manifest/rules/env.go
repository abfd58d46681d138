package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Hidden replaces the values of variables in what viewers read. It is refused as a
// value, so that a manifest that a viewer has read cannot be posted by mistake.
const Hidden = "[hidden from viewers]"

// envCheck holds the rules of environments.
type envCheck struct {
	*check
	volumes map[string]*corev1.VolumeSource
}

func (c envCheck) env(container *corev1.Container, at *field.Path) {
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

func (c envCheck) envSource(from *corev1.EnvVarSource, at *field.Path) {
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

func (c envCheck) keyRef(name, key string, at *field.Path) {
	c.name(at.Child("name"), name, validation.IsDNS1123Subdomain)
	c.name(at.Child("key"), key, validation.IsConfigMapKey)
}

func (c envCheck) fileKeyRef(ref *corev1.FileKeySelector, at *field.Path) {
	c.given(at.Child("path"), ref.Path)
	c.noBacksteps(at.Child("path"), ref.Path)
	c.name(at.Child("key"), ref.Key, validation.IsRelaxedEnvVarName)
	c.given(at.Child("volumeName"), ref.VolumeName)
	volume, found := c.volumes[ref.VolumeName]
	switch {
	case ref.VolumeName == "":
	case !found:
		c.errs = append(c.errs, field.NotFound(at.Child("volumeName"), Clip(ref.VolumeName)))
	case volume.EmptyDir == nil:
		c.bad(at.Child("volumeName"), ref.VolumeName, "must name an emptyDir volume")
	}
}

func (c envCheck) envFrom(sources []corev1.EnvFromSource, at *field.Path) {
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
