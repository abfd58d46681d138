package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// AnnotationKey names the key by which a pod came to the node.
const AnnotationKey = "nodal.node/fleet-key"

// local is a pod as the node shows it.
type local struct {
	name     types.NamespacedName
	uid      string
	key      string // by which it came; empty: in another way
	deadline time.Time
	text     string // of the whole pod
}

// view holds all that decides about one key.
type view struct {
	text    *string // in etcd, or nil
	pods    []local // of this key, on the node
	taken   string  // text that the node has answered, and
	refused string  // the fault for which the node refused it
	status  string  // in etcd
	holder  string  // of the pod's name on the node, if that is not this key
}

// verb names the thing to do.
type verb uint8

const (
	agreed verb = iota
	put         // the node shall run the pod
	end         // the node shall end a pod
	tell        // etcd shall have the status
)

type step struct {
	verb   verb
	pod    local
	status string // for tell; empty otherwise
}

// next says what to do about a key so that both sides come to agree. A text that names
// no pod is a slip of somebody's pen: what runs runs on.
func next(v view) step {
	var wanted types.NamespacedName
	var names bool
	if v.text != nil {
		wanted, names = nameOf(*v.text)
	}
	var have *local
	for i, p := range v.pods {
		if v.text != nil && (p.name == wanted || !names) {
			have = &v.pods[i]
		} else if p.deadline.IsZero() {
			return step{verb: end, pod: p}
		}
	}
	switch {
	case v.text != nil && v.holder == "" && (v.taken != *v.text || have == nil && v.refused == ""):
		return step{verb: put}
	case v.text != nil && have == nil:
		return v.telling(failed(wanted, v))
	case have != nil:
		return v.telling(unchanged(have.text, v.refused))
	case len(v.pods) > 0:
		return v.telling(v.pods[0].text)
	}
	return v.telling("")
}

func (v view) telling(status string) step {
	if status == v.status {
		return step{}
	}
	return step{verb: tell, status: status}
}

// failed is the status of a manifest that no pod came of.
func failed(name types.NamespacedName, v view) string {
	message := v.refused
	if v.holder != "" {
		message = fmt.Sprintf("the node has a pod %s already, %s", name, v.holder)
	}
	text, err := json.Marshal(&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NodeRefused", Message: message},
	})
	if err != nil {
		return message
	}
	return string(text)
}

// ConditionTaken is False of a pod that runs as it was, because the node does not take
// what its key says by now.
const ConditionTaken = "nodal.node/ManifestTaken"

// unchanged is a pod with the reason why it is not what its key says, if there is one.
func unchanged(text, refused string) string {
	pod := &corev1.Pod{}
	if refused == "" || json.Unmarshal([]byte(text), pod) != nil {
		return text
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: ConditionTaken, Status: corev1.ConditionFalse, Reason: "NodeRefused", Message: refused,
	})
	out, err := json.Marshal(pod)
	if err != nil {
		return text
	}
	return string(out)
}

// nameOf returns the pod that a manifest names, and false if it names none: the node will
// refuse it.
func nameOf(text string) (types.NamespacedName, bool) {
	var pod struct {
		Metadata struct{ Namespace, Name string }
	}
	if yaml.Unmarshal([]byte(text), &pod) != nil || pod.Metadata.Name == "" {
		return types.NamespacedName{}, false
	}
	name := types.NamespacedName{Namespace: pod.Metadata.Namespace, Name: pod.Metadata.Name}
	if name.Namespace == "" {
		name.Namespace = metav1.NamespaceDefault
	}
	return name, true
}

// manifestOf is a manifest with its key, as the node is to have it.
func manifestOf(text, key string) (string, error) {
	var object map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		return "", fmt.Errorf("read the manifest: %w", err)
	}
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return "", fmt.Errorf("read the manifest: it has no metadata")
	}
	notes, ok := meta["annotations"].(map[string]any)
	if !ok {
		notes = map[string]any{}
		meta["annotations"] = notes
	}
	notes[AnnotationKey] = key
	out, err := json.Marshal(object)
	return string(out), err
}
