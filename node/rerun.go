package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Followup says what follows a run that ended.
type Followup uint8

const (
	NoRun         Followup = iota
	NextRun                // the container runs again
	AllContainers          // every container of the pod does
)

// After says what follows a container that ended with an exit code. Its own rules are asked first,
// then its own policy, then the pod's. An init container that has succeeded is done, whatever its
// policy, unless it is a sidecar. An ephemeral container runs once.
func After(spec *corev1.PodSpec, c *corev1.Container, exitCode int32) Followup {
	isInit := InitContainer(spec, c.Name) != nil
	rule, ruled := ruleFor(c, exitCode)
	switch {
	case EphemeralContainer(spec, c.Name) != nil:
		return NoRun
	case ruled && rule == corev1.ContainerRestartRuleActionRestartAllContainers:
		return AllContainers
	case isInit && !IsSidecar(c) && exitCode == 0:
		return NoRun
	case ruled, reruns(PolicyOf(spec, c), exitCode):
		return NextRun
	}
	return NoRun
}

// Rerun reports whether a container that ended with an exit code is started again.
func Rerun(spec *corev1.PodSpec, c *corev1.Container, exitCode int32) bool {
	return After(spec, c, exitCode) != NoRun
}

// ruleFor returns the action of the first rule that matches an exit code.
func ruleFor(c *corev1.Container, exitCode int32) (corev1.ContainerRestartRuleAction, bool) {
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes == nil {
			continue
		}
		in := rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn
		if slices.Contains(rule.ExitCodes.Values, exitCode) == in {
			return rule.Action, true
		}
	}
	return "", false
}

// PolicyOf returns a container's own restart policy, or else the pod's.
func PolicyOf(spec *corev1.PodSpec, c *corev1.Container) corev1.RestartPolicy {
	if c.RestartPolicy != nil {
		return corev1.RestartPolicy(*c.RestartPolicy)
	}
	return spec.RestartPolicy
}

func reruns(policy corev1.RestartPolicy, exitCode int32) bool {
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return exitCode != 0
	}
	return true
}
