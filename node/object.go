package node

import (
	"bytes"
	"maps"

	certificatesv1 "k8s.io/api/certificates/v1"
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
	ClusterTrustBundle    ObjectKind = "ClusterTrustBundle"
)

// Namespaced says whether objects of the kind are in namespaces.
func (k ObjectKind) Namespaced() bool {
	return k != PersistentVolume && k != RuntimeClass && k != ClusterTrustBundle
}

// ObjectRef names an object that pods use.
type ObjectRef struct {
	Kind      ObjectKind
	Namespace string // none if the kind is not namespaced
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
	ConfigMap *corev1.ConfigMap                  `json:",omitempty"`
	Secret    *corev1.Secret                     `json:",omitempty"`
	Volume    *corev1.PersistentVolume           `json:",omitempty"`
	Claim     *corev1.PersistentVolumeClaim      `json:",omitempty"`
	Class     *nodev1.RuntimeClass               `json:",omitempty"`
	Trust     *certificatesv1.ClusterTrustBundle `json:",omitempty"`
	Revision  int64                              `json:"-"` // at which it came to be as it is
}

// one is what the object is; single: it is that and nothing else.
func (o *Object) one() (kind ObjectKind, held metav1.ObjectMetaAccessor, single bool) {
	count := 0
	for _, may := range []struct {
		be   bool
		kind ObjectKind
		held metav1.ObjectMetaAccessor
	}{
		{o.ConfigMap != nil, ConfigMap, o.ConfigMap},
		{o.Secret != nil, Secret, o.Secret},
		{o.Volume != nil, PersistentVolume, o.Volume},
		{o.Claim != nil, PersistentVolumeClaim, o.Claim},
		{o.Class != nil, RuntimeClass, o.Class},
		{o.Trust != nil, ClusterTrustBundle, o.Trust},
	} {
		if may.be {
			kind, held = may.kind, may.held
			count++
		}
	}
	return kind, held, count == 1
}

// Single reports whether the object is of exactly one kind.
func (o *Object) Single() bool {
	_, _, single := o.one()
	return single
}

// Ref is what the object is called.
func (o *Object) Ref() ObjectRef {
	kind, held, _ := o.one()
	meta := held.GetObjectMeta()
	return ObjectRef{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName()}
}

// Meta is the object's metadata.
func (o *Object) Meta() *metav1.ObjectMeta {
	_, held, _ := o.one()
	return held.GetObjectMeta().(*metav1.ObjectMeta)
}

// Clone returns a copy that may be written.
func (o *Object) Clone() *Object {
	return &Object{
		ConfigMap: o.ConfigMap.DeepCopy(), Secret: o.Secret.DeepCopy(),
		Volume: o.Volume.DeepCopy(), Claim: o.Claim.DeepCopy(), Class: o.Class.DeepCopy(), Trust: o.Trust.DeepCopy(),
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

// ObjectRefs are the objects, and families of such, that a pod uses, the optional
// ones included.
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
