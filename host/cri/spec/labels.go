package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/node"
)

// Annotations of containers. Log collectors, crictl and other kubelets know
// them under these names.
const (
	annotationHash          = "io.kubernetes.container.hash"
	annotationRestartCount  = "io.kubernetes.container.restartCount"
	annotationMessagePath   = "io.kubernetes.container.terminationMessagePath"
	annotationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy"
	annotationPorts         = "io.kubernetes.container.ports"
	annotationPreStop       = "io.kubernetes.container.preStopHandler"
	annotationGrace         = "io.kubernetes.pod.terminationGracePeriod"
)

// podLabels returns the user's labels with the pod's identity over them: a user must not pass one pod off as another.
func podLabels(pod *corev1.Pod) map[string]string {
	labels := make(map[string]string, len(pod.Labels)+3)
	maps.Copy(labels, pod.Labels)
	labels[kubelettypes.KubernetesPodNameLabel] = pod.Name
	labels[kubelettypes.KubernetesPodNamespaceLabel] = pod.Namespace
	labels[kubelettypes.KubernetesPodUIDLabel] = string(pod.UID)
	return labels
}

func containerLabels(pod *corev1.Pod, container string) map[string]string {
	return map[string]string{
		kubelettypes.KubernetesPodNameLabel:       pod.Name,
		kubelettypes.KubernetesPodNamespaceLabel:  pod.Namespace,
		kubelettypes.KubernetesPodUIDLabel:        string(pod.UID),
		kubelettypes.KubernetesContainerNameLabel: container,
	}
}

func containerAnnotations(run Run) (map[string]string, error) {
	c := run.Container
	annotations := map[string]string{
		annotationHash:          run.Hash,
		annotationRestartCount:  strconv.FormatUint(uint64(run.Attempt), 10),
		annotationMessagePath:   c.TerminationMessagePath,
		annotationMessagePolicy: string(c.TerminationMessagePolicy),
	}
	if grace := run.Allocated.Spec.TerminationGracePeriodSeconds; grace != nil {
		annotations[annotationGrace] = strconv.FormatInt(*grace, 10)
	}
	if len(c.Ports) > 0 {
		if err := annotate(annotations, annotationPorts, c.Ports); err != nil {
			return nil, fmt.Errorf("encode ports of container %q: %w", c.Name, err)
		}
	}
	if hook := node.HookOf(c, node.PreStop); hook != nil {
		if err := annotate(annotations, annotationPreStop, hook); err != nil {
			return nil, fmt.Errorf("encode preStop hook of container %q: %w", c.Name, err)
		}
	}
	return annotations, nil
}

func annotate(annotations map[string]string, name string, value any) error {
	data, err := json.Marshal(value)
	annotations[name] = string(data)
	return err
}

// KeyOf reads a pod's key back. A sandbox or container that no kubelet made has none.
func KeyOf(labels map[string]string) (node.Key, bool) {
	key := node.Key{
		Namespace: labels[kubelettypes.KubernetesPodNamespaceLabel],
		Name:      labels[kubelettypes.KubernetesPodNameLabel],
	}
	return key, key.Namespace != "" && key.Name != "" && labels[kubelettypes.KubernetesPodUIDLabel] != ""
}

// Selector finds what belongs to a key; nil finds everything.
func Selector(only *node.Key) map[string]string {
	if only == nil {
		return nil
	}
	return map[string]string{
		kubelettypes.KubernetesPodNamespaceLabel: only.Namespace,
		kubelettypes.KubernetesPodNameLabel:      only.Name,
	}
}

// GraceOf reads back the pod's grace period. Zero means unknown.
func GraceOf(annotations map[string]string) time.Duration {
	seconds, err := strconv.ParseInt(annotations[annotationGrace], 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// HashOf reads back the hash of a container's spec.
func HashOf(annotations map[string]string) string { return annotations[annotationHash] }

// MessageOf reads back where a container may write its termination message, and the policy for a missing one.
func MessageOf(annotations map[string]string) (path string, policy corev1.TerminationMessagePolicy) {
	return annotations[annotationMessagePath], corev1.TerminationMessagePolicy(annotations[annotationMessagePolicy])
}

// HookedOf reads back the parts that the end of a container needs: its preStop hook, and the ports that the hook may
// name. It is nil without a hook.
func HookedOf(annotations map[string]string) *corev1.Container {
	text, ok := annotations[annotationPreStop]
	if !ok {
		return nil
	}
	c := &corev1.Container{Lifecycle: &corev1.Lifecycle{}}
	if json.Unmarshal([]byte(text), &c.Lifecycle.PreStop) != nil {
		return nil // another kubelet's, in a form that we do not know
	}
	if text, ok := annotations[annotationPorts]; ok && json.Unmarshal([]byte(text), &c.Ports) != nil {
		return nil
	}
	return c
}
