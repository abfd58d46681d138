package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hashVersion stands before every hash. A later version that looks at more fields
// can then tell an old hash from a changed container, and restart nothing.
const hashVersion = "v1-"

// ContainerHash names what a running container is: a container whose hash differs
// from its manifest's has to be replaced.
func ContainerHash(c *corev1.Container) string {
	return hash(struct{ Name, Image string }{c.Name, c.Image})
}

// PodHash names a whole manifest: what its author wrote, with defaults, without
// what servers and sources add.
func PodHash(pod *corev1.Pod) string {
	return hash(authored(pod))
}

// hash is short enough for a label value and long enough not to collide.
func hash(value any) string {
	// Field order is fixed and map keys are sorted, so equal values are equal bytes.
	data, err := json.Marshal(value)
	if err != nil {
		return hashVersion + "unhashable" // no type hashed here can fail to marshal
	}
	sum := sha256.Sum256(data)
	return hashVersion + hex.EncodeToString(sum[:16])
}

// authored is a defaulted copy of a pod without the fields that its author does
// not own.
func authored(pod *corev1.Pod) *corev1.Pod {
	copied := pod.DeepCopy()
	forgetServerFields(copied)
	copied.TypeMeta = metav1.TypeMeta{}
	copied.UID = ""
	for _, key := range []string{AnnotationHash, AnnotationSource, AnnotationSeen} {
		delete(copied.Annotations, key)
	}
	Default(copied)
	return copied
}
