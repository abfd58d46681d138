package admit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"

	"nodal/node"
)

// safeSysctls change nothing outside of the pod that sets them, so that every
// pod may.
var safeSysctls = [...]string{
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.tcp_wmem",
}

// sysctls refuses kernel parameters that the node's owner has not allowed, and
// those of the host's own namespaces.
func (n Node) sysctls(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		if why := n.forbidden(&pod.Spec, sysctl.NormalizeName(s.Name)); why != "" {
			return &node.Refusal{Reason: "SysctlForbidden", Message: "forbidden sysctl: " + why}
		}
	}
	return nil
}

func (n Node) forbidden(spec *corev1.PodSpec, name string) string {
	if !slices.Contains(safeSysctls[:], name) && !slices.ContainsFunc(n.UnsafeSysctls, covers(name)) {
		return fmt.Sprintf("%q not allowlisted", name)
	}
	space, _, _ := sysctl.GetNamespace(name)
	if space == sysctl.NetNamespace && spec.HostNetwork || space == sysctl.IPCNamespace && spec.HostIPC {
		return fmt.Sprintf("%q not allowed with host %s enabled", name, space)
	}
	return ""
}

// covers returns a test for patterns that cover the sysctl: its name, or a prefix of it and a star.
func covers(name string) func(pattern string) bool {
	return func(pattern string) bool {
		pattern = sysctl.NormalizeName(pattern)
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return pattern == name
	}
}

// apparmor refuses a pod that asks for a profile where nothing would enforce it.
func (n Node) apparmor(pod *corev1.Pod, _ []*corev1.Pod) *node.Refusal {
	if n.AppArmor || !wantsAppArmor(pod) {
		return nil
	}
	return &node.Refusal{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
}

func wantsAppArmor(pod *corev1.Pod) bool {
	if c := pod.Spec.SecurityContext; c != nil && confines(c.AppArmorProfile) {
		return true
	}
	for c := range node.Containers(&pod.Spec) {
		if c.SecurityContext != nil && confines(c.SecurityContext.AppArmorProfile) {
			return true
		}
	}
	for key, profile := range pod.Annotations {
		older := strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if older && profile != "" && profile != corev1.DeprecatedAppArmorBetaProfileNameUnconfined {
			return true
		}
	}
	return false
}

func confines(p *corev1.AppArmorProfile) bool {
	return p != nil && p.Type != corev1.AppArmorProfileTypeUnconfined
}
