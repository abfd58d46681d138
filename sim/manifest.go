package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/manifest"
)

// newPod returns a random pod.
func (c *clients) newPod(key node.Key) *corev1.Pod {
	policies := [...]corev1.RestartPolicy{
		corev1.RestartPolicyAlways, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever,
	}
	grace := int64(c.pick(20))
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: corev1.PodSpec{
			RestartPolicy: policies[c.pick(len(policies))], TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "a", Image: c.image()}},
		},
	}
	if c.pick(2) == 0 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "b", Image: c.image()})
	}
	if c.pick(2) == 0 {
		pod.Spec.InitContainers = c.initContainers()
	}
	if c.pick(2) == 0 {
		c.addProbes(&pod.Spec.Containers[0])
	}
	if c.pick(2) == 0 {
		for container := range specs(pod) {
			if node.IsSidecar(container) || node.InitContainer(&pod.Spec, container.Name) == nil {
				c.addHooks(container)
			}
		}
	}
	if c.pick(2) == 0 {
		c.mounting(pod)
	}
	if key.Name != fileNames()[0] && c.pick(3) == 0 { // the author of static pods posts no deletions
		c.claiming(pod)
	}
	if c.pick(2) == 0 {
		c.sizing(pod)
	}
	if c.pick(6) == 0 {
		c.owning(pod)
	}
	if c.pick(6) == 0 {
		c.limiting(pod)
	}
	if c.pick(4) == 0 {
		c.ruling(pod)
	}
	c.world.sequence.ordering(pod)
	c.world.descent.ranking(pod)
	c.world.gadgets.asking(pod)
	c.world.tools.claiming(pod)
	manifest.Default(pod)
	return pod
}

// limiting sets how long a pod may run.
func (c *clients) limiting(pod *corev1.Pod) {
	seconds := int64(10 + c.pick(120))
	pod.Spec.ActiveDeadlineSeconds = &seconds
}

// ruling gives some containers rules that react to exit codes.
func (c *clients) ruling(pod *corev1.Pod) {
	policies := [...]corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure}
	actions := [...]corev1.ContainerRestartRuleAction{
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers,
	}
	operators := [...]corev1.ContainerRestartRuleOnExitCodesOperator{
		corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn,
	}
	for spec := range specs(pod) {
		if c.pick(2) == 0 {
			continue
		}
		if !node.IsSidecar(spec) { // a sidecar keeps its policy, and no other becomes a sidecar
			spec.RestartPolicy = &policies[c.pick(2)]
		}
		spec.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action: actions[c.pick(len(actions))],
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
				Operator: operators[c.pick(len(operators))], Values: []int32{int32(c.pick(2)), 137},
			},
		}}
	}
}

// initContainers returns up to three init containers, sidecars among them.
func (c *clients) initContainers() []corev1.Container {
	names := [...]string{"init", "proxy", "shipper"}
	var list []corev1.Container
	for _, name := range names[c.pick(len(names)):] {
		container := corev1.Container{Name: name, Image: "sim/job:1"}
		switch c.pick(6) {
		case 0:
			container.Image = "sim/crash:1"
		case 1, 2, 3:
			always := corev1.ContainerRestartPolicyAlways
			container.Image, container.RestartPolicy = c.image(), &always
		}
		list = append(list, container)
	}
	return list
}

func (c *clients) image() string {
	all := programs()
	program := all[0]
	if c.pick(3) == 0 {
		program = all[c.pick(len(all))]
	}
	return fmt.Sprintf("sim/%s:%d", program, 1+c.pick(3))
}

// change returns a manifest with an edit of the kind that people make.
func (c *clients) change(old *corev1.Pod) *corev1.Pod {
	pod := old.DeepCopy()
	spec := &pod.Spec.Containers[c.pick(len(pod.Spec.Containers))]
	switch c.pick(9) {
	case 8:
		c.limiting(pod)
	case 6, 7:
		if len(spec.Resources.Requests) > 0 {
			c.amount(spec)
		}
	case 0:
		pod.Labels = map[string]string{"v": fmt.Sprint(c.pick(100))}
	case 1:
		*pod.Spec.TerminationGracePeriodSeconds = int64(c.pick(20))
	case 2:
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "V", Value: fmt.Sprint(c.pick(100))}}
	default:
		spec.Image = c.image()
	}
	return pod
}
