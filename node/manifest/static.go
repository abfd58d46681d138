package manifest

import (
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

// The sources of static pods, as tools expect them in AnnotationSource.
const (
	FromFile = "file"
	FromURL  = "http"
)

// Place says where a static pod comes from.
type Place struct {
	Node   string
	Source string // FromFile or FromURL
	Origin string // the path or the URL
}

// Static makes a manifest from a file or URL into this node's static pod. Its name ends in the
// node's. It tolerates every taint that would evict it, because no other node could run it. A
// manifest without a UID gets the one that upstream's kubelet gives it. aliases are the UIDs that
// other kubelets would give it. The name grows, so a caller validates again afterwards.
func Static(doc Doc, from Place, seen time.Time) (aliases []types.UID) {
	pod := doc.Pod
	from.Node = strings.ToLower(from.Node)
	if pod.UID == "" {
		pod.UID, aliases = staticUID(doc, from), []types.UID{earlierUID(pod, from)}
	}
	setDefault(&pod.Namespace, defaultNamespace)
	pod.Name += "-" + from.Node
	pod.Spec.NodeName = from.Node
	tolerateEviction(&pod.Spec)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[AnnotationHash] = string(pod.UID)
	pod.Annotations[AnnotationSource] = from.Source
	pod.Annotations[AnnotationSeen] = seen.Format(time.RFC3339Nano)
	return aliases
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
