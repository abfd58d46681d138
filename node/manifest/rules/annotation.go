package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// deletionCost checks an annotation that controllers read as a number.
func (c podCheck) deletionCost(at *field.Path) {
	value, given := c.pod.Annotations[corev1.PodDeletionCost]
	if !given {
		return
	}
	if n, err := strconv.ParseInt(value, 10, 32); err != nil || strconv.FormatInt(n, 10) != value {
		c.bad(at.Key(corev1.PodDeletionCost), value, "must be a whole number of 32 bits, without leading zeros or a plus")
	}
}

// finalizers checks that those which are not Kubernetes' own have a domain.
func (c podCheck) finalizers(at *field.Path) {
	for i, name := range c.pod.Finalizers {
		switch name {
		case string(corev1.FinalizerKubernetes), "orphan", "foregroundDeletion":
		default:
			if !strings.Contains(name, "/") {
				c.bad(at.Index(i), name, "must have a domain, such as example.com/name")
			}
		}
	}
}

// seccompAnnotations checks the profiles that annotations named before there were fields.
func (c podCheck) seccompAnnotations(at *field.Path) {
	shared := securityCheck{c.check}
	if profile, given := c.pod.Annotations[corev1.SeccompPodAnnotationKey]; given {
		shared.seccompWord(at.Child(corev1.SeccompPodAnnotationKey), profile)
		if s := c.pod.Spec.SecurityContext; s != nil {
			shared.sameSeccomp(profile, s.SeccompProfile, field.NewPath("spec", "securityContext", "seccompProfile"))
		}
	}
	for i := range c.pod.Spec.Containers {
		container := &c.pod.Spec.Containers[i]
		key := corev1.SeccompContainerAnnotationKeyPrefix + container.Name
		if profile, given := c.pod.Annotations[key]; given {
			shared.seccompWord(at.Child(key), profile)
			if s := container.SecurityContext; s != nil {
				shared.sameSeccomp(profile, s.SeccompProfile,
					field.NewPath("spec", "containers").Index(i).Child("securityContext", "seccompProfile"))
			}
		}
	}
}

func (c securityCheck) seccompWord(at *field.Path, profile string) {
	local, isLocal := strings.CutPrefix(profile, corev1.SeccompLocalhostProfileNamePrefix)
	switch {
	case isLocal:
		c.localPath(at, local)
	case profile != corev1.SeccompProfileRuntimeDefault && profile != "unconfined" &&
		profile != corev1.DeprecatedSeccompProfileDockerDefault:
		c.bad(at, profile, "must be runtime/default, unconfined or localhost/<profile>")
	}
}

// sameSeccomp checks that an annotation and a field say the same.
func (c securityCheck) sameSeccomp(annotated string, p *corev1.SeccompProfile, at *field.Path) {
	if p == nil {
		return
	}
	wants := map[string]corev1.SeccompProfileType{
		corev1.SeccompProfileRuntimeDefault: corev1.SeccompProfileTypeRuntimeDefault, "unconfined": corev1.SeccompProfileTypeUnconfined,
		corev1.DeprecatedSeccompProfileDockerDefault: corev1.SeccompProfileTypeRuntimeDefault,
	}
	local, isLocal := strings.CutPrefix(annotated, corev1.SeccompLocalhostProfileNamePrefix)
	if want, known := wants[annotated]; known && p.Type != want || isLocal && p.Type != corev1.SeccompProfileTypeLocalhost {
		c.refused(at.Child("type"), "must be what the annotation says")
	}
	if isLocal && p.LocalhostProfile != nil && *p.LocalhostProfile != local {
		c.refused(at.Child("localhostProfile"), "must be what the annotation says")
	}
}

// sameAppArmor checks that an annotation and the field of its container say the same.
func (c podCheck) sameAppArmor(name, annotated string) {
	spec := field.NewPath("spec")
	for list, at := range map[*[]corev1.Container]*field.Path{
		&c.pod.Spec.Containers: spec.Child("containers"), &c.pod.Spec.InitContainers: spec.Child("initContainers"),
	} {
		for i := range *list {
			container := &(*list)[i]
			if s := container.SecurityContext; container.Name == name && s != nil && s.AppArmorProfile != nil {
				securityCheck{c.check}.appArmorAs(annotated, s.AppArmorProfile, at.Index(i).Child("securityContext", "appArmorProfile"))
			}
		}
	}
}

func (c securityCheck) appArmorAs(annotated string, p *corev1.AppArmorProfile, at *field.Path) {
	wants := map[string]corev1.AppArmorProfileType{
		corev1.DeprecatedAppArmorBetaProfileRuntimeDefault: corev1.AppArmorProfileTypeRuntimeDefault,
		corev1.DeprecatedAppArmorBetaProfileNameUnconfined: corev1.AppArmorProfileTypeUnconfined,
	}
	local, isLocal := strings.CutPrefix(annotated, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if want, known := wants[annotated]; known && p.Type != want || isLocal && p.Type != corev1.AppArmorProfileTypeLocalhost {
		c.refused(at.Child("type"), "must be what the annotation says")
	}
	if isLocal && p.LocalhostProfile != nil && *p.LocalhostProfile != local {
		c.refused(at.Child("localhostProfile"), "must be what the annotation says")
	}
}

// profileAnnotations checks the annotations that named AppArmor profiles before there was a field;
// old manifests still have them.
func (c podCheck) profileAnnotations(at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(c.pod.Annotations)) {
		name, ok := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if !ok {
			continue
		}
		if !c.hasContainer(name) {
			c.bad(at.Key(key), name, "must name a container of the pod")
		}
		c.sameAppArmor(name, c.pod.Annotations[key])
		switch profile := c.pod.Annotations[key]; {
		case profile == "",
			profile == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault,
			profile == corev1.DeprecatedAppArmorBetaProfileNameUnconfined,
			strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix):
		default:
			c.bad(at.Key(key), profile, "must be runtime/default, unconfined or localhost/<profile>")
		}
	}
}

func (c podCheck) hasContainer(name string) bool {
	for container := range node.EveryContainer(&c.pod.Spec) {
		if container.Name == name {
			return true
		}
	}
	return false
}
