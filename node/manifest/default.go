package manifest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

const (
	defaultNamespace   = corev1.NamespaceDefault
	defaultGraceSecond = int64(corev1.DefaultTerminationGracePeriodSeconds)
)

// Default fills in what Kubernetes' API server would, and the namespace, which the
// server takes from the request's path. It is idempotent.
func Default(pod *corev1.Pod) {
	setDefault(&pod.Namespace, defaultNamespace)
	defaultSpec(&pod.Spec)
	for i := range pod.Spec.Volumes {
		defaultVolume(&pod.Spec.Volumes[i])
	}
	for c := range node.EveryContainer(&pod.Spec) {
		defaultContainer(c, pod.Spec.HostNetwork)
	}
	roundUp(pod.Spec.Overhead)
	defaultPodResources(&pod.Spec)
}

func defaultSpec(spec *corev1.PodSpec) {
	setDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	// serviceAccount is the name's first spelling; the API keeps both equal.
	setDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	setDefaultPtr(&spec.TerminationGracePeriodSeconds, defaultGraceSecond)
	if *spec.TerminationGracePeriodSeconds < 0 { // as API servers read what old clients sent
		*spec.TerminationGracePeriodSeconds = 1
	}
	setDefaultPtr(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
}

func defaultContainer(c *corev1.Container, hostNetwork bool) {
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		port := &c.Ports[i]
		setDefault(&port.Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			setDefault(&port.HostPort, port.ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				setDefaultPtr(&from.FileKeyRef.Optional, false)
			}
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		defaultProbe(probe)
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				defaultHTTPGet(hook.HTTPGet)
			}
		}
	}
	defaultRequests(&c.Resources)
}

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefaultPtr(&p.GRPC.Service, "")
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		setDefault(&get.Path, "/")
		setDefault(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setDefault(&ref.APIVersion, "v1")
	}
}

// defaultRequests asks for what is limited, where the manifest asks for nothing.
func defaultRequests(r *corev1.ResourceRequirements) {
	roundUp(r.Limits)
	roundUp(r.Requests)
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	for name, limit := range r.Limits {
		if _, given := r.Requests[name]; !given {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

// roundUp keeps quantities at a thousandth, the finest the API counts in.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

// pullPolicy returns Always for an image whose content may change under its name: one with the tag
// latest, given or left out, unless a digest pins it.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, pinned := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if tag == "latest" || !tagged && !pinned {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
