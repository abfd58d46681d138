package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"

	"nodal/node"
)

// Poster names the ways by which pods reach the node.
type Poster string

const (
	Admin    Poster = "admin"
	Operator Poster = "operator"
	Cluster  Poster = "cluster" // a Kubernetes API server, by the node's own membership
	File     Poster = "file"
	URL      Poster = "url"
	// Workload makes pods from templates that were held to the policy of their own posters.
	Workload Poster = "workload"
)

// Posters lists those that have a level of their own.
var Posters = []Poster{Admin, Operator, Cluster, File, URL}

// Level is one of the Pod Security Standards.
type Level = api.Level

const (
	Privileged = api.LevelPrivileged
	Baseline   = api.LevelBaseline
	Restricted = api.LevelRestricted
)

// Policy holds what the node's owner allows. The zero value allows everything.
type Policy struct {
	Posters      map[Poster]Level // one that is missing is privileged
	Namespaces   map[string]Level // one that is missing is privileged
	NoPrivileged bool             // refuse privileged containers from every poster

	HostNetwork, HostPID, HostIPC From
}

// From holds the posters that may do something. nil allows all of them.
type From []Poster

func (f From) has(by Poster) bool { return f == nil || by == Workload || slices.Contains(f, by) }

// Check returns each rule that the pod breaks when it comes from by.
func (p Policy) Check(pod *corev1.Pod, by Poster) []node.Violation {
	violations := p.hostNamespaces(pod, by)
	if p.NoPrivileged {
		violations = append(violations, privileged(pod)...)
	}
	level, of := p.level(pod.Namespace, by)
	return append(violations, broken(level, of, &pod.ObjectMeta, &pod.Spec)...)
}

// Enter returns an error that wraps node.ErrDenied if by may not run commands in the pod,
// because by could not have posted it.
func (p Policy) Enter(pod *corev1.Pod, by Poster) error {
	violations := p.Check(pod, by)
	if len(violations) == 0 {
		return nil
	}
	first := violations[0]
	return fmt.Errorf("pod %s: a command in it may do more than %s may post: %s: %s: %w",
		node.KeyOf(pod), by, first.Field, first.Rule, node.ErrDenied)
}

// CheckObject returns the field of an object that gives pods more than by may give to a pod, unless by may give everything.
func (p Policy) CheckObject(object *node.Object, by Poster) []node.Violation {
	field, gives := given(object)
	if field == "" || p.Free(by) {
		return nil
	}
	return []node.Violation{{Field: field, Rule: gives + forbids(p.Posters[by], posterOf(by)) + remedy}}
}

// given returns the field of an object that gives something of the machine to every pod or to everyone, and what that is.
func given(object *node.Object) (field, gives string) {
	const files = "opens the machine's own files" // through a claim, as a hostPath does
	volume, service := object.Volume(), node.As[*corev1.Service](object)
	switch {
	case service != nil && (service.Spec.Type == corev1.ServiceTypeNodePort || service.Spec.Type == corev1.ServiceTypeLoadBalancer):
		return "spec.type", "opens a port of the machine"
	case object.Ref().Kind == node.EndpointSlice: // workloads make those of services that choose pods
		return "endpoints", "leads from the machine to any address"
	case volume != nil && volume.Spec.HostPath != nil:
		return "spec.hostPath", files
	case volume != nil && volume.Spec.Local != nil:
		return "spec.local", files
	case object.Ref().Kind == node.CSIDriverObject:
		return "spec", "says what a driver may be asked to do for every pod"
	}
	return "", ""
}

// level returns the stricter of two levels, and whose it is.
func (p Policy) level(namespace string, by Poster) (Level, string) {
	poster, space := p.Posters[by], p.Namespaces[namespace]
	if strictness(space) > strictness(poster) {
		return space, fmt.Sprintf("namespace %q", namespace)
	}
	return poster, posterOf(by)
}

func strictness(l Level) int { return slices.Index([]Level{Privileged, Baseline, Restricted}, l) }

func posterOf(by Poster) string { return fmt.Sprintf("pods from %q", by) }

func (p Policy) hostNamespaces(pod *corev1.Pod, by Poster) []node.Violation {
	var violations []node.Violation
	for _, switched := range []struct {
		asked bool
		from  From
		field string
		flag  string
	}{
		{pod.Spec.HostNetwork, p.HostNetwork, "spec.hostNetwork", "--host-network-sources"},
		{pod.Spec.HostPID, p.HostPID, "spec.hostPID", "--host-pid-sources"},
		{pod.Spec.HostIPC, p.HostIPC, "spec.hostIPC", "--host-ipc-sources"},
	} {
		if switched.asked && !switched.from.has(by) {
			violations = append(violations, node.Violation{
				Field: switched.field,
				Rule:  fmt.Sprintf("is not allowed in %s; the node's %s allows it", posterOf(by), switched.flag),
			})
		}
	}
	return violations
}

func privileged(pod *corev1.Pod) []node.Violation {
	var violations []node.Violation
	check := func(list, name string, context *corev1.SecurityContext) {
		if context != nil && context.Privileged != nil && *context.Privileged {
			violations = append(violations, node.Violation{
				Field: fmt.Sprintf("spec.%s[%s].securityContext.privileged", list, name),
				Rule:  "is not allowed on this node; --allow-privileged allows it",
			})
		}
	}
	for _, c := range pod.Spec.InitContainers {
		check("initContainers", c.Name, c.SecurityContext)
	}
	for _, c := range pod.Spec.Containers {
		check("containers", c.Name, c.SecurityContext)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		check("ephemeralContainers", c.Name, c.SecurityContext)
	}
	return violations
}

const remedy = "; an admin may post it, or the node's --pod-security may allow it"

func forbids(level Level, of string) string {
	return fmt.Sprintf(", which the level %q of %s forbids", level, of)
}

// broken returns a violation for each rule of the level that the pod breaks.
func broken(level Level, of string, meta *metav1.ObjectMeta, spec *corev1.PodSpec) []node.Violation {
	var violations []node.Violation
	for _, rule := range rulesOf(level) {
		result := rule.check(meta, spec)
		if result.Allowed {
			continue
		}
		text := result.ForbiddenReason
		if result.ForbiddenDetail != "" {
			text += " (" + result.ForbiddenDetail + ")"
		}
		violations = append(violations, node.Violation{Field: rule.field, Rule: text + forbids(level, of) + remedy})
	}
	return violations
}
