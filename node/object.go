package node

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node/surplus"
)

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

// Object is an accepted object that pods use: an immutable snapshot.
type Object struct {
	Kind     ObjectKind
	Value    Value
	Revision int64 // of its last change
	// Source brought the object; empty stands for the API. That of a locked object is not known.
	Source Source
	Origin string // the file or URL it came from
	// Locked says why the data of the object cannot be read now: only its name is known. It is nil for all others.
	Locked error
	// Surplus holds what a newer agent has recorded of the object. This agent only keeps it.
	Surplus *surplus.Tree
}

// NewObject wraps a value of one of the kinds in the table. A value of another type becomes an
// object without a kind.
func NewObject(value Value) *Object {
	kind, _ := kindWhere(func(k Kind) bool { return k.holds(value) })
	return &Object{Kind: kind.Name, Value: value}
}

// Ref returns the object's name.
func (o *Object) Ref() ObjectRef {
	return ObjectRef{Kind: o.Kind, Namespace: o.Value.GetNamespace(), Name: o.Value.GetName()}
}

// Meta returns the object's metadata.
func (o *Object) Meta() *metav1.ObjectMeta { return o.Value.GetObjectMeta().(*metav1.ObjectMeta) }

// Clone returns a copy that may be written.
func (o *Object) Clone() *Object {
	copied := *o
	copied.Value, copied.Revision = o.Value.DeepCopyObject().(Value), 0
	return &copied
}

// Owner returns the source that brought the object. Other sources may not change it.
func (o *Object) Owner() Source { return cmp.Or(o.Source, SourceAPI) }

// Readable returns nil if the data of the object can be read, and otherwise the reason with the object's name.
func (o *Object) Readable() error {
	if o.Locked == nil {
		return nil
	}
	return fmt.Errorf("%s cannot be read: %w", o.Ref(), o.Locked)
}

// As returns the value of an object as one type, and nil where it is of another.
func As[T Value](o *Object) T {
	value, _ := o.Value.(T)
	return value
}

// ConfigMap returns the value of a ConfigMap, and nil of another kind.
func (o *Object) ConfigMap() *corev1.ConfigMap { return As[*corev1.ConfigMap](o) }

// Secret returns the value of a Secret, and nil of another kind.
func (o *Object) Secret() *corev1.Secret { return As[*corev1.Secret](o) }

// Volume returns the value of a PersistentVolume, and nil of another kind.
func (o *Object) Volume() *corev1.PersistentVolume { return As[*corev1.PersistentVolume](o) }

// Claim returns the value of a PersistentVolumeClaim, and nil of another kind.
func (o *Object) Claim() *corev1.PersistentVolumeClaim { return As[*corev1.PersistentVolumeClaim](o) }

// Class returns the value of a RuntimeClass, and nil of another kind.
func (o *Object) Class() *nodev1.RuntimeClass { return As[*nodev1.RuntimeClass](o) }

// Trust returns the value of a ClusterTrustBundle, and nil of another kind.
func (o *Object) Trust() *certificatesv1.ClusterTrustBundle {
	return As[*certificatesv1.ClusterTrustBundle](o)
}

// Immutable reports whether the author has promised that the data never changes.
func (o *Object) Immutable() bool {
	promised := func(b *bool) bool { return b != nil && *b }
	switch v := o.Value.(type) {
	case *corev1.Secret:
		return promised(v.Immutable)
	case *corev1.ConfigMap:
		return promised(v.Immutable)
	}
	return false
}

// Data returns all that a ConfigMap or Secret holds, by key.
func (o *Object) Data() map[string][]byte {
	switch v := o.Value.(type) {
	case *corev1.Secret:
		return v.Data
	case *corev1.ConfigMap:
		data := maps.Clone(v.BinaryData)
		if data == nil {
			data = map[string][]byte{}
		}
		for key, text := range v.Data {
			data[key] = []byte(text)
		}
		return data
	}
	return nil
}

// SameData reports whether two objects hold the same data.
func (o *Object) SameData(other *Object) bool {
	return maps.EqualFunc(o.Data(), other.Data(), bytes.Equal)
}

// ObjectRefs returns the objects, and families of objects, that a pod uses, the optional ones
// included.
func ObjectRefs(pod *corev1.Pod) []ObjectRef {
	refs := map[ObjectRef]bool{}
	use := func(kind ObjectKind, name string) { refs[ObjectRef{kind, pod.Namespace, name}] = true }
	for c := range EveryContainer(&pod.Spec) {
		environmentRefs(c, use)
	}
	for _, secret := range pod.Spec.ImagePullSecrets {
		if secret.Name != "" { // an API server takes an empty name
			use(Secret, secret.Name)
		}
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
