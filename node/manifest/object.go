package manifest

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// configMap decodes and validates one ConfigMap.
func (b *bundle) configMap(at place, object []byte) {
	cm := new(corev1.ConfigMap)
	if !b.strict(at, object, cm) {
		return
	}
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: string(node.ConfigMap)}
	b.ownMeta(&cm.ObjectMeta)
	errs := metaOf(&cm.ObjectMeta, true)
	for key := range cm.Data {
		if _, twice := cm.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "must not be in binaryData too"))
		}
		errs = append(errs, dataKey(field.NewPath("data"), key)...)
	}
	for key := range cm.BinaryData {
		errs = append(errs, dataKey(field.NewPath("binaryData"), key)...)
	}
	b.takeObject(at, &node.Object{ConfigMap: cm}, errs)
}

// secret decodes and validates one Secret. What is written as stringData is kept
// as data.
func (b *bundle) secret(at place, object []byte) {
	s := new(corev1.Secret)
	if !b.strict(at, object, s) {
		return
	}
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: string(node.Secret)}
	b.ownMeta(&s.ObjectMeta)
	setDefault(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
	errs := metaOf(&s.ObjectMeta, true)
	for key := range s.Data {
		errs = append(errs, dataKey(field.NewPath("data"), key)...)
	}
	b.takeObject(at, &node.Object{Secret: s}, append(errs, secretType(s)...))
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

// ownMeta leaves of the metadata what its author owns, in a namespace.
func (b *bundle) ownMeta(meta *metav1.ObjectMeta) {
	*meta = authoredMeta(meta)
	setDefault(&meta.Namespace, b.namespace)
	setDefault(&meta.Namespace, defaultNamespace)
}

func authoredMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, GenerateName: meta.GenerateName, Namespace: meta.Namespace,
		Labels: meta.Labels, Annotations: meta.Annotations,
	}
}

// metaOf checks the metadata of an object that is no pod.
func metaOf(meta *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	return namedMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain)
}

func namedMeta(meta *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) field.ErrorList {
	at := field.NewPath("metadata")
	if meta.Name == "" {
		return field.ErrorList{field.Required(at.Child("name"), "must be given")}
	}
	return apivalidation.ValidateObjectMeta(meta, namespaced, name, at)
}

func dataKey(at *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	for _, why := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(at.Key(key), key, why))
	}
	return errs
}

// requiredKeys are what a Secret of a type has to hold.
var requiredKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
}

func secretType(s *corev1.Secret) field.ErrorList {
	at := field.NewPath("data")
	var errs field.ErrorList
	for _, key := range requiredKeys[s.Type] {
		value, ok := s.Data[key]
		switch {
		case !ok:
			errs = append(errs, field.Required(at.Key(key), fmt.Sprintf("a Secret of type %s must have it", s.Type)))
		case (key == corev1.DockerConfigKey || key == corev1.DockerConfigJsonKey) && !json.Valid(value):
			errs = append(errs, field.Invalid(at.Key(key), "<secret contents redacted>", "must be JSON"))
		}
	}
	_, user := s.Data[corev1.BasicAuthUsernameKey]
	_, password := s.Data[corev1.BasicAuthPasswordKey]
	if s.Type == corev1.SecretTypeBasicAuth && !user && !password {
		errs = append(errs, field.Required(at, fmt.Sprintf("a Secret of type %s must have %s or %s",
			s.Type, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)))
	}
	return errs
}
