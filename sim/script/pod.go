package script

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func (s *stage) pod(words []string) error {
	options := map[string]string{"restart": "Always", "containers": "app", "grace": "30"}
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return errUsage
		}
		options[name] = value
	}
	grace, err := strconv.ParseInt(options["grace"], 10, 64)
	if err != nil {
		return err
	}
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name, UID: types.UID(options["uid"])},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicy(options["restart"]), TerminationGracePeriodSeconds: &grace,
			InitContainers: specs(options["init"], options), Containers: specs(options["containers"], options),
		},
	}
	if name := options["config"]; name != "" {
		mountConfig(&object.Spec, name)
	}
	if name := options["claim"]; name != "" {
		mountClaim(&object.Spec, name)
	}
	if seconds, err := strconv.ParseInt(options["deadline"], 10, 64); err == nil {
		object.Spec.ActiveDeadlineSeconds = &seconds
	}
	if err := addRule(&object.Spec, options["over"]); err != nil {
		return err
	}
	if value := options["label"]; value != "" {
		object.Labels = map[string]string{"label": value}
	}
	if err := addProbes(&object.Spec, options["probes"]); err != nil {
		return err
	}
	if err := addHooks(&object.Spec, options["hooks"]); err != nil {
		return err
	}
	return s.apply(object)
}

// mountConfig mounts a volume made from a ConfigMap and the pod's labels in all containers.
func mountConfig(spec *corev1.PodSpec, name string) {
	spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{}},
		},
	}}}}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/config"}}
		}
	}
}

// addRule restarts all containers when one ends with an exit code.
func addRule(spec *corev1.PodSpec, rule string) error {
	name, code, ok := strings.Cut(rule, ":")
	if !ok {
		return nil
	}
	value, err := strconv.ParseInt(code, 10, 32)
	if err != nil {
		return err
	}
	policy := corev1.ContainerRestartPolicyNever
	for c := range node.Containers(spec) {
		if c.Name != name {
			continue
		}
		if c.RestartPolicy == nil {
			c.RestartPolicy = &policy
		}
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action: corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
				Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{int32(value)},
			},
		}}
	}
	return nil
}

func specs(names string, options map[string]string) []corev1.Container {
	var list []corev1.Container
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		name, isSidecar := strings.CutSuffix(name, "+")
		c := corev1.Container{Name: name, Image: name + ":1"}
		if isSidecar {
			policy := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &policy
		}
		if options["image"] != "" {
			c.Image = options["image"]
		}
		bound(&c, options["disk"])
		size(&c, options)
		if options["env"] != "" {
			c.Env = []corev1.EnvVar{{Name: "X", Value: options["env"]}}
		}
		list = append(list, c)
	}
	return list
}

// size sets a container's CPU, and its policy for a resize.
func size(c *corev1.Container, options map[string]string) {
	if amount, err := resource.ParseQuantity(options["cpu"]); err == nil {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: amount}
		c.Resources.Limits = c.Resources.Requests
	}
	if policy := options["resize"]; policy != "" {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.ResourceResizeRestartPolicy(policy)}}
	}
}
