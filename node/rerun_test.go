package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAfter(t *testing.T) {
	const (
		always    = corev1.ContainerRestartPolicyAlways
		onFailure = corev1.ContainerRestartPolicyOnFailure
		never     = corev1.ContainerRestartPolicyNever
		in        = corev1.ContainerRestartRuleOnExitCodesOpIn
		notIn     = corev1.ContainerRestartRuleOnExitCodesOpNotIn
		again     = corev1.ContainerRestartRuleActionRestart
		all       = corev1.ContainerRestartRuleActionRestartAllContainers
	)
	type option func(*corev1.Container)
	policy := func(p corev1.ContainerRestartPolicy) option {
		return func(c *corev1.Container) { c.RestartPolicy = &p }
	}
	rule := func(action corev1.ContainerRestartRuleAction, operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) option {
		return func(c *corev1.Container) {
			c.RestartPolicyRules = append(c.RestartPolicyRules, corev1.ContainerRestartRule{
				Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
			})
		}
	}
	for _, c := range []struct {
		name    string
		of      string // the container: app or init
		pod     corev1.RestartPolicy
		options []option
		code    int32
		want    Followup
	}{
		{"a success under Always", "app", corev1.RestartPolicyAlways, nil, 0, NextRun},
		{"no policy is Always", "app", "", nil, 0, NextRun},
		{"a failure under Always", "app", corev1.RestartPolicyAlways, nil, 1, NextRun},
		{"a success under OnFailure", "app", corev1.RestartPolicyOnFailure, nil, 0, NoRun},
		{"a failure under OnFailure", "app", corev1.RestartPolicyOnFailure, nil, 1, NextRun},
		{"a success under Never", "app", corev1.RestartPolicyNever, nil, 0, NoRun},
		{"a failure under Never", "app", corev1.RestartPolicyNever, nil, 1, NoRun},

		{"a container's own policy comes before the pod's", "app", corev1.RestartPolicyNever, []option{policy(always)}, 0, NextRun},
		{"so it does when it wants less", "app", corev1.RestartPolicyAlways, []option{policy(never)}, 1, NoRun},
		{"and when it wants some", "app", corev1.RestartPolicyAlways, []option{policy(onFailure)}, 0, NoRun},

		{"a success of an init container under Always", "init", corev1.RestartPolicyAlways, nil, 0, NoRun},
		{"a failure of an init container under Always", "init", corev1.RestartPolicyAlways, nil, 1, NextRun},
		{"a failure of an init container under Never", "init", corev1.RestartPolicyNever, nil, 1, NoRun},
		{"a failure of an init container that may fail", "init", corev1.RestartPolicyNever, []option{policy(onFailure)}, 1, NextRun},
		{"a sidecar is always restarted", "init", corev1.RestartPolicyNever, []option{policy(always)}, 0, NextRun},

		{"a rule comes before the policy", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, in, 42, 43)}, 43, NextRun},
		{"a rule for other codes says nothing", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, in, 42)}, 1, NoRun},
		{"a rule for all but some codes", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, notIn, 0, 1)}, 7, NextRun},
		{"a rule for all but this code says nothing", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, notIn, 0, 1)}, 1, NoRun},
		{"the first rule that speaks decides", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, in, 1), rule(all, notIn, 0)}, 1, NextRun},
		{"the next rule decides when the first is silent", "app", corev1.RestartPolicyNever, []option{policy(never), rule(again, in, 1), rule(all, notIn, 0)}, 2, AllContainers},
		{"a rule does not repeat an init container that succeeded", "init", corev1.RestartPolicyNever, []option{policy(never), rule(again, in, 0)}, 0, NoRun},
		{"it may begin everything anew", "init", corev1.RestartPolicyNever, []option{policy(never), rule(all, in, 3)}, 3, AllContainers},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &corev1.PodSpec{
				RestartPolicy:  c.pod,
				InitContainers: []corev1.Container{{Name: "init"}}, Containers: []corev1.Container{{Name: "app"}},
			}
			for container := range Containers(spec) {
				for _, o := range c.options {
					o(container)
				}
				if got := After(spec, container, c.code); container.Name == c.of && got != c.want {
					t.Errorf("after %d comes %d, want %d", c.code, got, c.want)
				}
			}
		})
	}
}
