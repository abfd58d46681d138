package spec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// apparmor returns the profile that a container asks for; nil leaves the choice to the runtime. The annotations are
// older than the fields and count where those are not set.
func apparmor(run Run) *runtimeapi.SecurityProfile {
	profile := prefer(ownContext(run.Container).AppArmorProfile, podContext(run.Allocated).AppArmorProfile)
	if profile == nil {
		older := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + run.Container.Name
		return apparmorAnnotation(run.Allocated.Annotations[older])
	}
	switch profile.Type {
	case corev1.AppArmorProfileTypeUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}
	case corev1.AppArmorProfileTypeLocalhost:
		return localApparmor(*prefer(profile.LocalhostProfile, new(string)))
	}
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}
}

func apparmorAnnotation(value string) *runtimeapi.SecurityProfile {
	if name, ok := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix); ok {
		return localApparmor(name)
	}
	switch value {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}
	}
	return nil
}

func localApparmor(name string) *runtimeapi.SecurityProfile {
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: name}
}
