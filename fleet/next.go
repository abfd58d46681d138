package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// AnnotationKey is the annotation with the key that a pod came by.
const AnnotationKey = "nodal.node/fleet-key"

// local is a pod as the node shows it.
type local struct {
	name     types.NamespacedName
	uid      string
	key      string // that it came by; empty for a pod of another client
	deadline time.Time
	text     string // of the whole pod, in JSON
	state    state
}

// view holds both sides of one key, and the node's answers before.
type view struct {
	text    *string // in etcd, or nil
	pods    []local // of this key, on the node
	taken   string  // the text that the node answered last
	refused string  // the fault in it, if the node refused it
	status  string  // in etcd
	holder  string  // of the pod's name on the node, if that is not this key
}

// verb names a step.
type verb uint8

const (
	agreed verb = iota // nothing to do: both sides agree
	put                // post the pod to the node
	end                // have the node end a pod
	report             // write the status to etcd
)

// step is the next step for a key.
type step struct {
	verb   verb
	pod    local  // of end
	status string // of report; empty removes it
}

// next returns the step that brings both sides of a key closer to agreement. A text that names no pod is taken for a
// mistake: the pod of its key runs on.
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
		return v.reporting(failed(wanted, v))
	case have != nil:
		return v.reporting(unchanged(have.text, v.refused))
	case len(v.pods) > 0:
		return v.reporting(v.pods[0].text)
	}
	return v.reporting("")
}

// reporting returns the step that writes a status, if etcd has another one.
func (v view) reporting(status string) step {
	if status == v.status {
		return step{}
	}
	return step{verb: report, status: status}
}

// failed returns the status of a manifest without a pod.
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

// ConditionTaken is the condition of a pod whose manifest was changed. It is False if the node refused the change and
// the pod runs on as it was.
const ConditionTaken = "nodal.node/ManifestTaken"

// unchanged returns a pod, with a condition if the node refused the present text of its key.
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

// nameOf returns the name of the pod in a manifest. It reports false if there is none: the node will refuse that.
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

// manifestOf returns a manifest in JSON, annotated with its key.
func manifestOf(text, key string) (string, error) {
	var object map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		return "", fmt.Errorf("read the manifest: %w", err)
	}
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return "", errors.New("read the manifest: it has no metadata")
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
