package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/users"
)

// The paths of /proc and /sys that are hidden from a container, and those that it may not write. Runtimes leave the
// choice to the kubelet.
var (
	maskedPaths = [...]string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
		"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	readonlyPaths = [...]string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

func sandboxSecurity(of *node.Pod) *runtimeapi.LinuxSandboxSecurityContext {
	pod := of.Object
	security := &runtimeapi.LinuxSandboxSecurityContext{
		NamespaceOptions: namespaces(pod, of.Users),
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

// containerSecurity merges the settings of the pod and of the container, whose own go first.
func (n Node) containerSecurity(run Run) (*runtimeapi.LinuxContainerSecurityContext, error) {
	pod, own := podContext(run.Allocated), ownContext(run.Container)
	user := effectiveUser(pod, own)
	if err := checkNonRoot(user, run.ImageUser); err != nil {
		name := fmt.Sprintf("%s_%s(%s)", run.Allocated.Name, run.Allocated.Namespace, run.Allocated.UID)
		return nil, fmt.Errorf("%w (pod: %q, container: %s)", err, name, run.Container.Name)
	}
	seccomp, err := n.seccompProfile(prefer(own.SeccompProfile, pod.SeccompProfile))
	if err != nil {
		return nil, err
	}
	security := &runtimeapi.LinuxContainerSecurityContext{
		NamespaceOptions:         namespaces(run.Allocated, run.Pod.Users),
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
		Apparmor:                 apparmor(run),
	}
	if options := security.NamespaceOptions; run.Joins != "" && options.Pid == runtimeapi.NamespaceMode_CONTAINER {
		options.Pid, options.TargetId = runtimeapi.NamespaceMode_TARGET, run.Joins
	}
	if user.id == nil && run.ImageUser != nil {
		nameImageUser(security, run.ImageUser)
	}
	if !security.Privileged && (own.ProcMount == nil || *own.ProcMount == corev1.DefaultProcMount) {
		security.MaskedPaths = slices.Concat(maskedPaths[:], n.Machine.Throttles)
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

// wantedUser is the user that a spec wants a container to run as.
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

// NeedsImageUser reports whether the user of the image matters: it must not be root, or has to be named beside a group.
func (r Run) NeedsImageUser() bool {
	user := effectiveUser(podContext(r.Allocated), ownContext(r.Container))
	return user.id == nil && (user.nonRoot || user.group != nil)
}

// checkNonRoot words its errors as Kubernetes does, so that a search for them finds the cause.
func checkNonRoot(user wantedUser, image *ImageUser) error {
	switch {
	case !user.nonRoot:
		return nil
	case user.id != nil && *user.id == 0:
		return errors.New("container's runAsUser breaks non-root policy")
	case user.id != nil:
		return nil
	case image == nil:
		return errors.New("container has runAsNonRoot and nobody knows the image's user")
	case image.Name != "":
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), "+
			"cannot verify user is non-root", image.Name)
	case image.UID == 0:
		return errors.New("container has runAsNonRoot and image will run as root")
	}
	return nil
}

func nameImageUser(security *runtimeapi.LinuxContainerSecurityContext, user *ImageUser) {
	if user.Name != "" {
		security.RunAsUsername = user.Name
		return
	}
	security.RunAsUser = &runtimeapi.Int64Value{Value: user.UID}
}

func namespaces(pod *corev1.Pod, own *users.Range) *runtimeapi.NamespaceOption {
	options := &runtimeapi.NamespaceOption{
		Network:       runtimeapi.NamespaceMode_POD,
		Ipc:           runtimeapi.NamespaceMode_POD,
		Pid:           runtimeapi.NamespaceMode_CONTAINER,
		UsernsOptions: userNamespace(own),
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

// StrictGroups reports whether a pod's processes must have no group of the image.
func StrictGroups(pod *corev1.Pod) bool {
	return groupsPolicy(podContext(pod)) == runtimeapi.SupplementalGroupsPolicy_Strict
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

func (n Node) seccompProfile(profile *corev1.SeccompProfile) (*runtimeapi.SecurityProfile, error) {
	kind := corev1.SeccompProfileTypeUnconfined
	if n.SeccompDefault {
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
		return nil, fmt.Errorf("the Localhost seccomp profile has to be a path below %q: %w", n.SeccompDir, node.ErrInvalid)
	}
	return &runtimeapi.SecurityProfile{
		ProfileType:  runtimeapi.SecurityProfile_Localhost,
		LocalhostRef: filepath.Join(n.SeccompDir, *local),
	}, nil
}

// prefer takes the container's setting, or else the pod's.
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
