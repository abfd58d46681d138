package server

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest/rules"
	"nodal/server/auth"
)

// renderers show pods whole or, to viewers, without the values of environments. Each caches its
// result, so that a pod is rendered once for all viewers, and only if there are any.
type renderers struct{ whole, viewers *renderer }

func newRenderers(site node.Site) renderers {
	whole, viewers := newRenderer(site), newRenderer(site)
	viewers.hides = true
	return renderers{whole, viewers}
}

// of returns the renderer for a caller. A caller without a role was let in by a cluster, and sees
// what upstream's kubelet shows.
func (r renderers) of(ctx context.Context) *renderer {
	if id, _ := auth.From(ctx); id.Role == auth.RoleViewer {
		return r.viewers
	}
	return r.whole
}

// withoutValues is a copy of a pod in which no variable has a value of its own.
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
		// kubectl keeps what it applied, values and all.
		shown.Annotations = maps.Clone(pod.Annotations)
		delete(shown.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return &shown
}
