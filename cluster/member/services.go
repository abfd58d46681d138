package member

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Containers find services by environment variables. On the node these are a ConfigMap in the pod's namespace. Each
// container takes all of it, as its first source: variables that the pod sets itself win.
const (
	linksName  = "services.nodal.node"   // all services of the namespace, and the cluster's own
	masterName = "kubernetes.nodal.node" // the cluster's own alone
)

// The cluster's own service is in every pod's environment.
const (
	masterNamespace = corev1.NamespaceDefault
	masterService   = "kubernetes"
)

// servicesFor names the ConfigMap with a pod's services.
func servicesFor(pod *corev1.Pod) node.ObjectRef {
	ref := node.ObjectRef{Kind: node.ConfigMap, Namespace: pod.Namespace, Name: linksName}
	if links := pod.Spec.EnableServiceLinks; links != nil && !*links {
		ref.Name = masterName
	}
	return ref
}

// bringServices replaces enableServiceLinks by the ConfigMap.
func bringServices(pod *corev1.Pod) {
	named := corev1.LocalObjectReference{Name: servicesFor(pod).Name}
	from := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named}}
	for c := range node.EveryContainer(&pod.Spec) {
		c.EnvFrom = append([]corev1.EnvFromSource{from}, c.EnvFrom...)
	}
	pod.Spec.EnableServiceLinks = nil
}

// sourcesOf returns the services that go into a ConfigMap. Those of the namespace come last, and so replace the
// cluster's own service if they have its name.
func (o *objects) sourcesOf(services node.ObjectRef) []source {
	master := source{o.cluster.core, "services", masterNamespace, named(masterService), &corev1.Service{}}
	if services.Name == masterName {
		return []source{master}
	}
	return []source{master, {o.cluster.core, "services", services.Namespace, nil, &corev1.Service{}}}
}
