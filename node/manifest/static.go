package manifest

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/limit"
)

// The annotations by which tools recognise a static pod.
const (
	AnnotationHash   = "kubernetes.io/config.hash"
	AnnotationSource = limit.AnnotationSource
	AnnotationSeen   = "kubernetes.io/config.seen"
)

// Static makes a manifest from a file or URL into this node's static pod. Its name ends in the
// node's, and its UID follows from node, origin and content. It tolerates every taint that would
// evict it, because no other node could run it. source is "file" or "http", origin the path or the
// URL. The name grows, so a caller validates again afterwards.
func Static(pod *corev1.Pod, nodeName, source, origin string, seen time.Time) {
	nodeName = strings.ToLower(nodeName)
	setDefault(&pod.Namespace, defaultNamespace)
	if pod.UID == "" {
		pod.UID = staticUID(pod, nodeName, origin)
	}
	pod.Name += "-" + nodeName
	pod.Spec.NodeName = nodeName
	tolerateEviction(&pod.Spec)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[AnnotationHash] = string(pod.UID)
	pod.Annotations[AnnotationSource] = source
	pod.Annotations[AnnotationSeen] = seen.Format(time.RFC3339Nano)
}

// staticUID gives a pod of the same place and content the same UID after a restart, and an edited
// one another. It is an identity, not a secret: tools expect the form of MD5.
func staticUID(pod *corev1.Pod, nodeName, origin string) types.UID {
	sum := md5.Sum(fmt.Appendf(canonical(pod), "\nnode:%s\norigin:%s", nodeName, origin))
	return types.UID(hex.EncodeToString(sum[:]))
}

func tolerateEviction(spec *corev1.PodSpec) {
	want := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	for _, have := range spec.Tolerations {
		if have == want {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, want)
}
