package cri

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
	annotationGrace         = "io.kubernetes.pod.terminationGracePeriod"
)

// podLabels are the user's labels with the pod's identity over them: a user
// must not pass one pod off as another.
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

func containerAnnotations(pod *corev1.Pod, c *corev1.Container, attempt uint32, hash string) (map[string]string, error) {
	annotations := map[string]string{
		annotationHash:          hash,
		annotationRestartCount:  strconv.FormatUint(uint64(attempt), 10),
		annotationMessagePath:   c.TerminationMessagePath,
		annotationMessagePolicy: string(c.TerminationMessagePolicy),
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		annotations[annotationGrace] = strconv.FormatInt(*grace, 10)
	}
	if len(c.Ports) > 0 {
		ports, err := json.Marshal(c.Ports)
		if err != nil {
			return nil, fmt.Errorf("encode ports of container %q: %w", c.Name, err)
		}
		annotations[annotationPorts] = string(ports)
	}
	return annotations, nil
}

// keyOf reads the key back; there is none on what no kubelet made.
func keyOf(labels map[string]string) (node.Key, bool) {
	key := node.Key{
		Namespace: labels[kubelettypes.KubernetesPodNamespaceLabel],
		Name:      labels[kubelettypes.KubernetesPodNameLabel],
	}
	return key, key.Namespace != "" && key.Name != "" && labels[kubelettypes.KubernetesPodUIDLabel] != ""
}

// selector finds what belongs to a key; nil finds everything.
func selector(only *node.Key) map[string]string {
	if only == nil {
		return nil
	}
	return map[string]string{
		kubelettypes.KubernetesPodNamespaceLabel: only.Namespace,
		kubelettypes.KubernetesPodNameLabel:      only.Name,
	}
}

// graceOf reads back what the pod allowed its containers; zero: unknown.
func graceOf(annotations map[string]string) time.Duration {
	seconds, err := strconv.ParseInt(annotations[annotationGrace], 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
