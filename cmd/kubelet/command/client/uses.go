package client

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// usesOf names the objects of a kind that a pod uses.
func usesOf(p *corev1.Pod, kind node.ObjectKind) (names []string) {
	add := func(of node.ObjectKind, name string) {
		if of == kind {
			names = append(names, name)
		}
	}
	for _, s := range p.Spec.ImagePullSecrets {
		add(node.Secret, s.Name)
	}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			add(node.ConfigMap, v.ConfigMap.Name)
		case v.Secret != nil:
			add(node.Secret, v.Secret.SecretName)
		case v.PersistentVolumeClaim != nil:
			add(node.PersistentVolumeClaim, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			add(node.PersistentVolumeClaim, p.Name+"-"+v.Name)
		case v.Projected != nil:
			for _, from := range v.Projected.Sources {
				if from.ConfigMap != nil {
					add(node.ConfigMap, from.ConfigMap.Name)
				}
				if from.Secret != nil {
					add(node.Secret, from.Secret.Name)
				}
			}
		}
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		usesOfEnvironment(c, add)
	}
	return names
}

// usesOfEnvironment adds what the variables of a container are taken from.
func usesOfEnvironment(c corev1.Container, add func(node.ObjectKind, string)) {
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			add(node.ConfigMap, from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			add(node.Secret, from.SecretRef.Name)
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			continue
		}
		if ref := v.ValueFrom.ConfigMapKeyRef; ref != nil {
			add(node.ConfigMap, ref.Name)
		}
		if ref := v.ValueFrom.SecretKeyRef; ref != nil {
			add(node.Secret, ref.Name)
		}
	}
}
