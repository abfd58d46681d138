package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"

	"nodal/node"
)

// hashVersion begins every hash. A later version that hashes more fields can then tell an old hash
// from a changed container, and restart nothing.
const hashVersion = "v1-"

// ContainerHash identifies what a container runs: a container whose hash differs from its
// manifest's has to be replaced.
func ContainerHash(c *corev1.Container) string {
	// Neither a name nor an image can hold a zero byte.
	return hash([]byte(c.Name + "\x00" + c.Image))
}

// KubeletHash identifies what a container runs as upstream's kubelet does, since version 1.31: by its name and image. A
// kubelet replaces a container whose hash it does not know.
func KubeletHash(c *corev1.Container) string {
	// A map of texts always encodes.
	text, _ := json.Marshal(map[string]string{"name": c.Name, "image": c.Image})
	sum := fnv.New32a()
	io.WriteString(sum, dump.ForHash(text))
	return strconv.FormatUint(uint64(sum.Sum32()), 16)
}

// HashIn returns the hash by which the agents after this one recognise a container of a pod. Upstream's kubelet may
// follow on this one with pods of files, URLs and clusters. A pod that was posted to the node is unknown to it, and keeps
// the form that earlier versions of this agent know.
func HashIn(pod *node.Pod, c *corev1.Container) string {
	if pod.WantedBy() == node.SourceAPI {
		return ContainerHash(c)
	}
	return KubeletHash(c)
}

// IsHashOf reports whether a hash identifies what the container is to run, in our form or in upstream's.
func IsHashOf(hash string, c *corev1.Container) bool {
	if strings.HasPrefix(hash, hashVersion) {
		return hash == ContainerHash(c)
	}
	return hash == KubeletHash(c)
}

// PodHash identifies a whole manifest: what its author wrote, with defaults, without what servers
// and sources add.
func PodHash(pod *corev1.Pod) string { return hash(canonical(pod)) }

// hash returns a digest that fits a label value and is long enough not to collide.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hashVersion + hex.EncodeToString(sum[:16])
}

// canonical returns the bytes of an authored pod. Fields have a fixed order and keys of maps are
// sorted, so that equal pods are equal bytes.
func canonical(pod *corev1.Pod) []byte {
	data, err := json.Marshal(authored(pod))
	if err != nil {
		// A decoded pod always encodes. One made by hand out of values that have no
		// JSON form must at least not be mistaken for another.
		return fmt.Appendf(nil, "%s/%s %v", pod.Namespace, pod.Name, err)
	}
	return data
}

// authored returns a defaulted copy of a pod without the fields that its author does not own.
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
