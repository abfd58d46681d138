package node

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// CrashLoopBackOff is Kubernetes' reason why a container that has crashed waits for its next run.
const CrashLoopBackOff = "CrashLoopBackOff"

// Containers yields all containers of a pod in the order in which they begin: init
// containers and sidecars, then the application.
func Containers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// LastingContainers yields those that run for as long as the pod does: sidecars and the
// application. An ordinary init container gives back what it takes.
func LastingContainers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range spec.InitContainers {
			if c := &spec.InitContainers[i]; IsSidecar(c) && !yield(c) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(&spec.Containers[i]) {
				return
			}
		}
	}
}

// EphemeralContainers yields those that were added to a running pod to look into it.
// The pod's life goes on as if they were not there.
func EphemeralContainers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range spec.EphemeralContainers {
			// The same fields under another name, without what does not apply.
			if !yield((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

// EveryContainer yields the containers of a pod and then its ephemeral ones.
func EveryContainer(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, containers := range []iter.Seq[*corev1.Container]{Containers(spec), EphemeralContainers(spec)} {
			for c := range containers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// EphemeralContainer returns the ephemeral container of a name, or nil.
func EphemeralContainer(spec *corev1.PodSpec, name string) *corev1.EphemeralContainer {
	for i := range spec.EphemeralContainers {
		if spec.EphemeralContainers[i].Name == name {
			return &spec.EphemeralContainers[i]
		}
	}
	return nil
}

// InitContainer returns the init container or sidecar of a name, or nil.
func InitContainer(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Name == name {
			return &spec.InitContainers[i]
		}
	}
	return nil
}

// IsSidecar reports whether an init container goes on running beside the application. Among init
// containers alone, a restart policy of Always means that.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
