package cri

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// What a container does not see of /proc and /sys, and what it may not write.
// Runtimes leave the choice to the kubelet.
var (
	maskedPaths = [...]string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
		"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	readonlyPaths = [...]string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

func sandboxSecurity(pod *corev1.Pod) *runtimeapi.LinuxSandboxSecurityContext {
	security := &runtimeapi.LinuxSandboxSecurityContext{
		NamespaceOptions: namespaces(pod),
		Privileged:       anyPrivileged(pod),
		// The pause process needs nothing, whatever the containers get.
		Seccomp: &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
	}
	sc := pod.Spec.SecurityContext
	if sc == nil {
		return security
	}
	security.RunAsUser = int64Value(sc.RunAsUser)
	if sc.RunAsUser != nil { // runtimes refuse a group without a user
		security.RunAsGroup = int64Value(sc.RunAsGroup)
	}
	security.SupplementalGroups = supplementalGroups(sc)
	security.SupplementalGroupsPolicy = groupsPolicy(sc)
	security.SelinuxOptions = selinux(sc.SELinuxOptions)
	return security
}

// containerSecurity merges the pod's and the container's wishes; the container's
// go first.
func containerSecurity(config Config, in containerInput) (*runtimeapi.LinuxContainerSecurityContext, error) {
	pod, own := podContext(in.pod), ownContext(in.spec)
	user := effectiveUser(pod, own)
	if err := checkNonRoot(user, in.user); err != nil {
		return nil, fmt.Errorf("%w (pod: %q, container: %s)", err,
			fmt.Sprintf("%s_%s(%s)", in.pod.Name, in.pod.Namespace, in.pod.UID), in.spec.Name)
	}
	seccomp, err := seccompProfile(prefer(own.SeccompProfile, pod.SeccompProfile), config)
	if err != nil {
		return nil, err
	}
	security := &runtimeapi.LinuxContainerSecurityContext{
		NamespaceOptions:         namespaces(in.pod),
		Privileged:               isTrue(own.Privileged),
		RunAsUser:                int64Value(user.id),
		RunAsGroup:               int64Value(user.group),
		SupplementalGroups:       supplementalGroups(pod),
		SupplementalGroupsPolicy: groupsPolicy(pod),
		ReadonlyRootfs:           isTrue(own.ReadOnlyRootFilesystem),
		NoNewPrivs:               own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation,
		Capabilities:             capabilities(own.Capabilities),
		SelinuxOptions:           selinux(prefer(own.SELinuxOptions, pod.SELinuxOptions)),
		Seccomp:                  seccomp,
		Apparmor:                 apparmor(in),
	}
	if options := security.NamespaceOptions; in.joins != "" && options.Pid == runtimeapi.NamespaceMode_CONTAINER {
		options.Pid, options.TargetId = runtimeapi.NamespaceMode_TARGET, in.joins
	}
	if user.id == nil && in.user != nil {
		nameImageUser(security, in.user)
	}
	if !security.Privileged && (own.ProcMount == nil || *own.ProcMount == corev1.DefaultProcMount) {
		security.MaskedPaths = slices.Concat(maskedPaths[:], config.Machine.Throttles)
		security.ReadonlyPaths = slices.Clone(readonlyPaths[:])
	}
	return security, nil
}

// podContext and ownContext spare the rest of this file the nil cases.
func podContext(pod *corev1.Pod) *corev1.PodSecurityContext {
	if pod.Spec.SecurityContext == nil {
		return &corev1.PodSecurityContext{}
	}
	return pod.Spec.SecurityContext
}

func ownContext(c *corev1.Container) *corev1.SecurityContext {
	if c.SecurityContext == nil {
		return &corev1.SecurityContext{}
	}
	return c.SecurityContext
}

// wantedUser is whom a container shall run as.
type wantedUser struct {
	id, group *int64
	nonRoot   bool
}

func effectiveUser(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) wantedUser {
	return wantedUser{
		id:      prefer(own.RunAsUser, pod.RunAsUser),
		group:   prefer(own.RunAsGroup, pod.RunAsGroup),
		nonRoot: isTrue(prefer(own.RunAsNonRoot, pod.RunAsNonRoot)),
	}
}

// needsImageUser says whether it matters whom the image wants to run as: it must
// not be root, or it has to be said beside a group.
func needsImageUser(pod *corev1.Pod, c *corev1.Container) bool {
	user := effectiveUser(podContext(pod), ownContext(c))
	return user.id == nil && (user.nonRoot || user.group != nil)
}

// checkNonRoot speaks in the words that people find when they look for the cause.
func checkNonRoot(user wantedUser, image *imageUser) error {
	switch {
	case !user.nonRoot:
		return nil
	case user.id != nil && *user.id == 0:
		return errors.New("container's runAsUser breaks non-root policy")
	case user.id != nil:
		return nil
	case image == nil:
		return errors.New("container has runAsNonRoot and nobody knows the image's user")
	case image.name != "":
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root", image.name)
	case image.uid == 0:
		return errors.New("container has runAsNonRoot and image will run as root")
	}
	return nil
}

func nameImageUser(security *runtimeapi.LinuxContainerSecurityContext, user *imageUser) {
	if user.name != "" {
		security.RunAsUsername = user.name
		return
	}
	security.RunAsUser = &runtimeapi.Int64Value{Value: user.uid}
}

func namespaces(pod *corev1.Pod) *runtimeapi.NamespaceOption {
	options := &runtimeapi.NamespaceOption{
		Network: runtimeapi.NamespaceMode_POD,
		Ipc:     runtimeapi.NamespaceMode_POD,
		Pid:     runtimeapi.NamespaceMode_CONTAINER,
	}
	if pod.Spec.HostNetwork {
		options.Network = runtimeapi.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		options.Ipc = runtimeapi.NamespaceMode_NODE
	}
	switch {
	case pod.Spec.HostPID:
		options.Pid = runtimeapi.NamespaceMode_NODE
	case isTrue(pod.Spec.ShareProcessNamespace):
		options.Pid = runtimeapi.NamespaceMode_POD
	}
	return options
}

func anyPrivileged(pod *corev1.Pod) bool {
	for c := range node.EveryContainer(&pod.Spec) {
		if isTrue(ownContext(c).Privileged) {
			return true
		}
	}
	return false
}

func supplementalGroups(sc *corev1.PodSecurityContext) []int64 {
	groups := slices.Clone(sc.SupplementalGroups)
	if sc.FSGroup != nil {
		groups = append(groups, *sc.FSGroup)
	}
	return groups
}

func groupsPolicy(sc *corev1.PodSecurityContext) runtimeapi.SupplementalGroupsPolicy {
	if p := sc.SupplementalGroupsPolicy; p != nil && *p == corev1.SupplementalGroupsPolicyStrict {
		return runtimeapi.SupplementalGroupsPolicy_Strict
	}
	return runtimeapi.SupplementalGroupsPolicy_Merge
}

func capabilities(c *corev1.Capabilities) *runtimeapi.Capability {
	if c == nil {
		return nil
	}
	capability := &runtimeapi.Capability{}
	for _, name := range c.Add {
		capability.AddCapabilities = append(capability.AddCapabilities, string(name))
	}
	for _, name := range c.Drop {
		capability.DropCapabilities = append(capability.DropCapabilities, string(name))
	}
	return capability
}

func selinux(o *corev1.SELinuxOptions) *runtimeapi.SELinuxOption {
	if o == nil {
		return nil
	}
	return &runtimeapi.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}

func seccompProfile(profile *corev1.SeccompProfile, config Config) (*runtimeapi.SecurityProfile, error) {
	kind := corev1.SeccompProfileTypeUnconfined
	if config.SeccompDefault {
		kind = corev1.SeccompProfileTypeRuntimeDefault
	}
	if profile != nil {
		kind = profile.Type
	}
	switch kind {
	case corev1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case corev1.SeccompProfileTypeUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
	}
	local := profile.LocalhostProfile
	if local == nil || !filepath.IsLocal(*local) {
		return nil, fmt.Errorf("the Localhost seccomp profile has to be a path below %q: %w", config.SeccompDir, node.ErrInvalid)
	}
	return &runtimeapi.SecurityProfile{
		ProfileType:  runtimeapi.SecurityProfile_Localhost,
		LocalhostRef: filepath.Join(config.SeccompDir, *local),
	}, nil
}

// prefer takes the container's wish, or else the pod's.
func prefer[T any](own, pod *T) *T {
	if own != nil {
		return own
	}
	return pod
}

func isTrue(b *bool) bool { return b != nil && *b }

func int64Value(v *int64) *runtimeapi.Int64Value {
	if v == nil {
		return nil
	}
	return &runtimeapi.Int64Value{Value: *v}
}
