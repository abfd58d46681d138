package spec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"
)

// sysctls returns the kernel's parameters in a pod's own namespaces: those of the pod, and those of the node where the
// pod sets none. Kubernetes takes both spellings, the runtime only dots.
func sysctls(spec *corev1.PodSpec, usual map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range usual {
		if name = sysctl.NormalizeName(name); apart(spec, name) {
			all[name] = value
		}
	}
	if spec.SecurityContext != nil {
		for _, s := range spec.SecurityContext.Sysctls {
			all[sysctl.NormalizeName(s.Name)] = s.Value
		}
	}
	return all
}

// apart reports whether a pod has the namespace of a sysctl for itself. A pod never changes the host's own parameters.
func apart(spec *corev1.PodSpec, name string) bool {
	switch space, _, _ := sysctl.GetNamespace(name); space {
	case sysctl.NetNamespace, sysctl.UTSNamespace:
		return !spec.HostNetwork
	case sysctl.IPCNamespace:
		return !spec.HostIPC
	case sysctl.UserNamespace:
		return spec.HostUsers != nil && !*spec.HostUsers
	}
	return false
}
