package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// securityCheck holds the rules that a pod and a container share.
type securityCheck struct{ *check }

// windowsOnly is the rule for Windows options in a pod whose spec.os names Linux. For other pods
// node/capability decides about those options.
const windowsOnly = "may not be set for a Linux pod"

// podSecurity checks the security context of the pod and the host namespaces that
// go with it.
func (c podCheck) podSecurity(spec *field.Path) {
	c.namespaces(spec)
	s, at := c.pod.Spec.SecurityContext, spec.Child("securityContext")
	if s == nil {
		return
	}
	shared := securityCheck{c.check}
	shared.identity(s.RunAsUser, s.RunAsGroup, at)
	if s.FSGroup != nil {
		c.badEach(at.Child("fsGroup"), *s.FSGroup, validation.IsValidGroupID(*s.FSGroup))
	}
	for i, group := range s.SupplementalGroups {
		c.badEach(at.Child("supplementalGroups").Index(i), group, validation.IsValidGroupID(group))
	}
	shared.windows(s.WindowsOptions, c.pod.Spec.OS, at)
	optionalOneOf(c.check, at.Child("fsGroupChangePolicy"), s.FSGroupChangePolicy,
		corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)
	optionalOneOf(c.check, at.Child("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	optionalOneOf(c.check, at.Child("seLinuxChangePolicy"), s.SELinuxChangePolicy,
		corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption)
	shared.seccomp(s.SeccompProfile, at.Child("seccompProfile"))
	shared.appArmor(s.AppArmorProfile, at.Child("appArmorProfile"))
	c.sysctls(s.Sysctls, at.Child("sysctls"))
}

// namespaces checks which of the host's namespaces go together.
func (c podCheck) namespaces(at *field.Path) {
	spec := &c.pod.Spec
	if spec.HostPID && spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace {
		c.bad(at.Child("shareProcessNamespace"), true, "must not be true together with hostPID")
	}
	if !node.HasOwnUsers(c.pod) {
		return
	}
	for _, m := range []member{{"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC}} {
		if m.given {
			c.refused(at.Child(m.name), "may not be set when hostUsers is false")
		}
	}
	if spec.HostNetwork {
		c.refused(at.Child("hostNetwork"), "not supported by this node: hostUsers is false, and the network is the host's")
	}
}

// containerSecurity checks the security context of one container.
func (c containerCheck) containerSecurity(s *corev1.SecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	shared := securityCheck{c.check}
	shared.identity(s.RunAsUser, s.RunAsGroup, at)
	shared.windows(s.WindowsOptions, c.pod.Spec.OS, at)
	optionalOneOf(c.check, at.Child("procMount"), s.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
	if !node.HasOwnUsers(c.pod) {
		if s.ProcMount != nil && *s.ProcMount == corev1.UnmaskedProcMount {
			c.bad(at.Child("procMount"), string(*s.ProcMount), "must be Default unless hostUsers is false")
		}
	}
	shared.seccomp(s.SeccompProfile, at.Child("seccompProfile"))
	shared.appArmor(s.AppArmorProfile, at.Child("appArmorProfile"))
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		return
	}
	if s.Privileged != nil && *s.Privileged {
		c.bad(at.Child("allowPrivilegeEscalation"), false, "must not be false for a privileged container")
	}
	if s.Capabilities != nil {
		for _, capability := range s.Capabilities.Add {
			if capability == "CAP_SYS_ADMIN" {
				c.bad(at.Child("allowPrivilegeEscalation"), false, "must not be false with the capability CAP_SYS_ADMIN")
			}
		}
	}
}

func (c securityCheck) windows(options *corev1.WindowsSecurityContextOptions, os *corev1.PodOS, at *field.Path) {
	if options != nil && os != nil && os.Name == corev1.Linux {
		c.refused(at.Child("windowsOptions"), windowsOnly)
	}
}

func (c securityCheck) identity(user, group *int64, at *field.Path) {
	if user != nil {
		c.badEach(at.Child("runAsUser"), *user, validation.IsValidUserID(*user))
	}
	if group != nil {
		c.badEach(at.Child("runAsGroup"), *group, validation.IsValidGroupID(*group))
	}
}

func (c securityCheck) seccomp(p *corev1.SeccompProfile, at *field.Path) {
	if p == nil {
		return
	}
	oneOf(c.check, at.Child("type"), p.Type,
		corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeLocalhost)
	c.localhostProfile(p.LocalhostProfile, p.Type == corev1.SeccompProfileTypeLocalhost, at)
	if p.LocalhostProfile != nil {
		c.localPath(at.Child("localhostProfile"), *p.LocalhostProfile)
	}
}

func (c securityCheck) appArmor(p *corev1.AppArmorProfile, at *field.Path) {
	if p == nil {
		return
	}
	oneOf(c.check, at.Child("type"), p.Type,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined, corev1.AppArmorProfileTypeLocalhost)
	c.localhostProfile(p.LocalhostProfile, p.Type == corev1.AppArmorProfileTypeLocalhost, at)
	if name := p.LocalhostProfile; name != nil {
		if strings.TrimSpace(*name) != *name {
			c.bad(at.Child("localhostProfile"), *name, "must not be padded with whitespace")
		}
		if len(*name) > 4095 { // the kernel's longest path
			c.bad(at.Child("localhostProfile"), *name, validation.MaxLenError(4095))
		}
	}
}

// localhostProfile requires a profile's name exactly when it is a file of the host.
func (c securityCheck) localhostProfile(name *string, local bool, at *field.Path) {
	switch {
	case local && (name == nil || *name == ""):
		c.missing(at.Child("localhostProfile"), "must be set when type is Localhost")
	case !local && name != nil:
		c.bad(at.Child("localhostProfile"), *name, "can only be set when type is Localhost")
	}
}
