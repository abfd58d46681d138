package member

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// annotationGeneration is the cluster's generation of a pod on the node.
const annotationGeneration = "nodal.node/generation"

// manifestOf returns the manifest by which the node runs a pod of the cluster. known is the one that it has, or nil.
func manifestOf(want, known *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: want.Namespace, Name: want.Name, UID: want.UID, Labels: want.Labels,
			Annotations: maps.Clone(want.Annotations),
		},
		Spec: *want.Spec.DeepCopy(),
	}
	delete(pod.Annotations, node.AnnotationClaims) // which apply brings
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, node.AnnotationFrom, node.Cluster)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotationGeneration, strconv.FormatInt(want.Generation, 10))
	bringTokens(pod)
	bringServices(pod)
	bringOwned(pod, known)
	return pod
}

// fingerprint identifies a manifest, so that the node does not get the same one twice.
func fingerprint(want *corev1.Pod) string {
	text, err := json.Marshal(manifestOf(want, nil))
	if err != nil {
		return "" // apply refuses it
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
