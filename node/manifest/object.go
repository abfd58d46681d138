package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
	"nodal/node/manifest/rules"
)

// value decodes, defaults and validates one object that pods use.
func (b *bundle) value(at place, object []byte, r reader) {
	value := r.New()
	if !b.strict(at, object, value) {
		return
	}
	value.GetObjectKind().SetGroupVersionKind(r.GroupVersionKind())
	made := node.NewObject(value)
	meta := made.Meta()
	managed := b.managedIn(meta)
	owners := meta.OwnerReferences
	*meta = authoredMeta(meta)
	meta.ManagedFields = managed
	if r.Workload || r.Part {
		meta.OwnerReferences = owners
	}
	if r.Namespaced {
		setDefault(&meta.Namespace, b.namespace)
		setDefault(&meta.Namespace, defaultNamespace)
	} else {
		meta.Namespace = ""
	}
	r.complete(value)
	b.takeObject(at, made, append(r.check(value), rules.ManagedFields(managed)...))
}

// takeObject keeps one object if nothing is wrong with it.
func (b *bundle) takeObject(at place, object *node.Object, errs field.ErrorList) {
	size := 0
	for _, value := range object.Data() {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
	}
	if len(errs) > 0 {
		b.addFieldErrors(at, errs)
		return
	}
	ref := object.Ref()
	b.keep(at, name{string(ref.Kind), ref.Namespace, ref.Name}, Doc{Object: object})
}

// authoredMeta returns what of the metadata its author owns.
func authoredMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, GenerateName: meta.GenerateName, Namespace: meta.Namespace,
		Labels: meta.Labels, Annotations: meta.Annotations,
	}
}
