package node

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// AnnotationAfter names the pods that a pod starts after, as namespace/name[,namespace/name]: it starts when they are
// ready, and ends before they do when the machine shuts down.
const AnnotationAfter = "nodal.node/after"

// Before returns the keys of the pods that an object starts after, each once. The error names the first entry that is no
// pod; the keys are those of the others.
func Before(object metav1.Object) (keys []Key, err error) {
	text, ok := object.GetAnnotations()[AnnotationAfter]
	if !ok {
		return nil, nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		key, wrong := parseKey(strings.TrimSpace(entry))
		switch {
		case wrong != nil && err == nil:
			err = wrong
		case wrong == nil && !slices.Contains(keys, key):
			keys = append(keys, key)
		}
	}
	return keys, err
}

func parseKey(text string) (Key, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Key{}, fmt.Errorf("%q names no pod; write namespace/name, with a comma between two pods", text)
	}
	return Key{namespace, name}, nil
}

// Unready is a pod that another one starts after, and that is not ready yet.
type Unready struct {
	Key   Key
	Why   string // "it is not ready", for messages
	Stuck bool   // it does not become ready by itself
}

// Await words what a pod waits for: "default/db (it is not ready), default/web (it has failed)".
func Await(unready []Unready) string {
	var all []string
	for _, u := range unready {
		all = append(all, fmt.Sprintf("%s (%s)", u.Key, u.Why))
	}
	return strings.Join(all, ", ")
}

// WaitingForPods is the reason of a pod that waits for those that it starts after.
const WaitingForPods = "WaitingForPods"
