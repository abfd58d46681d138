package rules

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// containerCheck holds the rules of containers of every kind.
type containerCheck struct {
	*check
	pod     *corev1.Pod
	volumes map[string]*corev1.VolumeSource
}

// containerLists checks all containers; their names are unique across the lists.
func (c containerCheck) containerLists(at *field.Path) {
	spec := &c.pod.Spec
	if len(spec.Containers) == 0 {
		c.missing(at.Child("containers"), "must hold at least one container")
	}
	names, hostPorts := map[string]bool{}, map[string]bool{}
	for i := range spec.Containers {
		container, path := &spec.Containers[i], at.Child("containers").Index(i)
		c.container(container, path, names)
		c.uniqueHostPorts(container, path.Child("ports"), hostPorts)
		c.sameHostPorts(container, path.Child("ports"))
		lifecycleCheck{c.check, c.pod}.runningContainer(container, path)
		optionalOneOf(c.check, path.Child("restartPolicy"), container.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
	}
	for i := range spec.InitContainers {
		container, path := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		c.container(container, path, names)
		// Init containers run one after another, so each has its ports for itself.
		c.uniqueHostPorts(container, path.Child("ports"), map[string]bool{})
		c.initContainer(container, path)
	}
	for i := range spec.EphemeralContainers {
		c.ephemeralContainer(&spec.EphemeralContainers[i], at.Child("ephemeralContainers").Index(i), names)
	}
}

// container checks what holds for containers of every kind.
func (c containerCheck) container(container *corev1.Container, at *field.Path, names map[string]bool) {
	c.name(at.Child("name"), container.Name, validation.IsDNS1123Label)
	if container.Name != "" {
		c.unique(at.Child("name"), names, container.Name)
	}
	c.given(at.Child("image"), container.Image)
	if strings.TrimSpace(container.Image) != container.Image {
		c.bad(at.Child("image"), container.Image, "must not have leading or trailing whitespace")
	}
	oneOf(c.check, at.Child("imagePullPolicy"), container.ImagePullPolicy,
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	oneOf(c.check, at.Child("terminationMessagePolicy"), container.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.ports(container.Ports, at.Child("ports"))
	envCheck{c.check, c.volumes}.env(container, at.Child("env"))
	envCheck{c.check, c.volumes}.envFrom(container.EnvFrom, at.Child("envFrom"))
	mountCheck(c).mounts(container, at.Child("volumeMounts"))
	mountCheck(c).devices(container, at.Child("volumeDevices"))
	c.resources(&container.Resources, at.Child("resources"))
	c.resizePolicy(container.ResizePolicy, at.Child("resizePolicy"))
	c.restartRules(container, at)
	c.containerSecurity(container.SecurityContext, at.Child("securityContext"))
}

// initContainer checks what holds for init containers and sidecars.
func (c containerCheck) initContainer(container *corev1.Container, at *field.Path) {
	optionalOneOf(c.check, at.Child("restartPolicy"), container.RestartPolicy,
		corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
	if node.IsSidecar(container) {
		lifecycleCheck{c.check, c.pod}.runningContainer(container, at)
		return
	}
	// A container that has to end before the app starts is never ready or alive.
	for _, m := range []member{
		{"lifecycle", container.Lifecycle != nil},
		{"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil},
		{"startupProbe", container.StartupProbe != nil},
	} {
		if m.given {
			c.refused(at.Child(m.name), "may not be set for init containers without restartPolicy Always")
		}
	}
}

// ports checks a container's ports among themselves.
func (c containerCheck) ports(ports []corev1.ContainerPort, at *field.Path) {
	names := map[string]bool{}
	for i, port := range ports {
		path := at.Index(i)
		c.optionalName(path.Child("name"), port.Name, validation.IsValidPortName)
		if port.Name != "" {
			c.unique(path.Child("name"), names, port.Name)
		}
		if port.ContainerPort == 0 {
			c.missing(path.Child("containerPort"), "")
		} else {
			c.badEach(path.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		if port.HostPort != 0 {
			c.badEach(path.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))
		}
		if port.HostIP != "" {
			c.errs = append(c.errs, validation.IsValidIP(path.Child("hostIP"), port.HostIP)...)
		}
		oneOf(c.check, path.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	}
}

func (c containerCheck) sameHostPorts(container *corev1.Container, at *field.Path) {
	for i, port := range container.Ports {
		if c.pod.Spec.HostNetwork && port.HostPort != port.ContainerPort {
			c.bad(at.Index(i).Child("hostPort"), port.HostPort, "must match containerPort when hostNetwork is true")
		}
	}
}

func (c containerCheck) uniqueHostPorts(container *corev1.Container, at *field.Path, seen map[string]bool) {
	for i, port := range container.Ports {
		if port.HostPort != 0 {
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			c.unique(at.Index(i).Child("hostPort"), seen, key)
		}
	}
}

func (c containerCheck) resizePolicy(policies []corev1.ContainerResizePolicy, at *field.Path) {
	seen := map[string]bool{}
	for i, policy := range policies {
		path := at.Index(i)
		oneOf(c.check, path.Child("resourceName"), policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		c.unique(path.Child("resourceName"), seen, string(policy.ResourceName))
		oneOf(c.check, path.Child("restartPolicy"), policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if c.pod.Spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy == corev1.RestartContainer {
			c.bad(path.Child("restartPolicy"), policy.RestartPolicy, "must be NotRequired when the pod's restartPolicy is Never")
		}
	}
}

// restartRules checks a container's own answers to exit codes.
func (c containerCheck) restartRules(container *corev1.Container, at *field.Path) {
	path := at.Child("restartPolicyRules")
	if len(container.RestartPolicyRules) == 0 {
		return
	}
	if container.RestartPolicy == nil {
		c.missing(at.Child("restartPolicy"), "must be given with restartPolicyRules")
	}
	if len(container.RestartPolicyRules) > 20 {
		c.bad(path, len(container.RestartPolicyRules), "must hold at most 20 rules")
	}
	for i, rule := range container.RestartPolicyRules {
		in := path.Index(i)
		oneOf(c.check, in.Child("action"), rule.Action,
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			c.missing(in.Child("exitCodes"), "")
			continue
		}
		codes := in.Child("exitCodes")
		oneOf(c.check, codes.Child("operator"), rule.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(rule.ExitCodes.Values); n > 255 {
			c.bad(codes.Child("values"), n, "must hold at most 255 exit codes")
		}
	}
}
