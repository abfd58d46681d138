package server

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest/rules"
	"nodal/server/auth"
)

// renderers show pods whole or, to viewers, without the values of environments. Each keeps
// what it has rendered, so viewers cost nothing where there are none.
type renderers struct{ whole, viewers *renderer }

func newRenderers(site node.Site) renderers {
	whole, viewers := newRenderer(site), newRenderer(site)
	viewers.hides = true
	return renderers{whole, viewers}
}

// of returns the renderer for a caller. A caller without a role is authorized by the cluster,
// and sees the same as on upstream's kubelet.
func (r renderers) of(ctx context.Context) *renderer {
	if id, _ := auth.From(ctx); id.Role == auth.RoleViewer {
		return r.viewers
	}
	return r.whole
}

// withoutValues copies a pod and hides the value of every variable.
func withoutValues(pod *corev1.Pod) *corev1.Pod {
	shown := *pod
	shown.Spec = *pod.Spec.DeepCopy()
	for c := range node.EveryContainer(&shown.Spec) {
		for i := range c.Env {
			if c.Env[i].ValueFrom == nil {
				c.Env[i].Value = rules.Hidden
			}
		}
	}
	if _, ok := pod.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		// The annotation holds the manifest as applied, values included.
		shown.Annotations = maps.Clone(pod.Annotations)
		delete(shown.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return &shown
}
