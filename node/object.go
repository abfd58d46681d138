package node

import (
	"bytes"
	"maps"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectKind is Kubernetes' kind of an object that pods use.
type ObjectKind string

const (
	ConfigMap             ObjectKind = "ConfigMap"
	Secret                ObjectKind = "Secret"
	PersistentVolume      ObjectKind = "PersistentVolume"
	PersistentVolumeClaim ObjectKind = "PersistentVolumeClaim"
	RuntimeClass          ObjectKind = "RuntimeClass"
)

// ObjectRef names an object that pods use.
type ObjectRef struct {
	Kind      ObjectKind
	Namespace string // none for a PersistentVolume or a RuntimeClass
	Name      string
}

func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return string(r.Kind) + " " + r.Name
	}
	return string(r.Kind) + " " + r.Namespace + "/" + r.Name
}

// Object is an accepted object that pods use: an immutable snapshot, exactly one
// of these.
type Object struct {
	ConfigMap *corev1.ConfigMap             `json:",omitempty"`
	Secret    *corev1.Secret                `json:",omitempty"`
	Volume    *corev1.PersistentVolume      `json:",omitempty"`
	Claim     *corev1.PersistentVolumeClaim `json:",omitempty"`
	Class     *nodev1.RuntimeClass          `json:",omitempty"`
	Revision  int64                         `json:"-"` // at which it came to be as it is
}

// Ref is what the object is called.
func (o *Object) Ref() ObjectRef {
	meta := o.Meta()
	return ObjectRef{Kind: o.kind(), Namespace: meta.Namespace, Name: meta.Name}
}

func (o *Object) kind() ObjectKind {
	switch {
	case o.Secret != nil:
		return Secret
	case o.Volume != nil:
		return PersistentVolume
	case o.Claim != nil:
		return PersistentVolumeClaim
	case o.Class != nil:
		return RuntimeClass
	}
	return ConfigMap
}

// single says whether the object is exactly one thing.
func (o *Object) single() bool {
	count := 0
	for _, is := range []bool{o.ConfigMap != nil, o.Secret != nil, o.Volume != nil, o.Claim != nil, o.Class != nil} {
		if is {
			count++
		}
	}
	return count == 1
}

// Meta is the object's metadata.
func (o *Object) Meta() *metav1.ObjectMeta {
	switch {
	case o.Secret != nil:
		return &o.Secret.ObjectMeta
	case o.Volume != nil:
		return &o.Volume.ObjectMeta
	case o.Claim != nil:
		return &o.Claim.ObjectMeta
	case o.Class != nil:
		return &o.Class.ObjectMeta
	}
	return &o.ConfigMap.ObjectMeta
}

// Clone returns a copy that may be written.
func (o *Object) Clone() *Object {
	return &Object{
		ConfigMap: o.ConfigMap.DeepCopy(), Secret: o.Secret.DeepCopy(),
		Volume: o.Volume.DeepCopy(), Claim: o.Claim.DeepCopy(), Class: o.Class.DeepCopy(),
	}
}

// Immutable says whether its author has promised that the data never changes.
func (o *Object) Immutable() bool {
	promised := func(b *bool) bool { return b != nil && *b }
	switch {
	case o.Secret != nil:
		return promised(o.Secret.Immutable)
	case o.ConfigMap != nil:
		return promised(o.ConfigMap.Immutable)
	}
	return false
}

// Data is all that a ConfigMap or Secret holds, by key.
func (o *Object) Data() map[string][]byte {
	switch {
	case o.Secret != nil:
		return o.Secret.Data
	case o.ConfigMap == nil:
		return nil
	}
	data := maps.Clone(o.ConfigMap.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range o.ConfigMap.Data {
		data[key] = []byte(text)
	}
	return data
}

// SameData says whether two objects hold the same.
func (o *Object) SameData(other *Object) bool {
	return maps.EqualFunc(o.Data(), other.Data(), bytes.Equal)
}

// ObjectRefs are the objects that a pod uses, the optional ones included.
func ObjectRefs(pod *corev1.Pod) []ObjectRef {
	refs := map[ObjectRef]bool{}
	use := func(kind ObjectKind, name string) { refs[ObjectRef{kind, pod.Namespace, name}] = true }
	for c := range EveryContainer(&pod.Spec) {
		environmentRefs(c, use)
	}
	for _, secret := range pod.Spec.ImagePullSecrets {
		use(Secret, secret.Name)
	}
	for volume := range MountedVolumes(&pod.Spec) {
		for _, ref := range VolumeRefs(pod, volume) {
			refs[ref] = true
		}
	}
	var all []ObjectRef
	for ref := range refs {
		all = append(all, ref)
	}
	return all
}

func environmentRefs(c *corev1.Container, use func(ObjectKind, string)) {
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			use(ConfigMap, from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			use(Secret, from.SecretRef.Name)
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			continue
		}
		if ref := v.ValueFrom.ConfigMapKeyRef; ref != nil {
			use(ConfigMap, ref.Name)
		}
		if ref := v.ValueFrom.SecretKeyRef; ref != nil {
			use(Secret, ref.Name)
		}
	}
}
