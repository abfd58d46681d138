package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ConfigMap returns the rules that a ConfigMap breaks.
func ConfigMap(cm *corev1.ConfigMap) field.ErrorList {
	errs := metaOf(&cm.ObjectMeta, true)
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		if _, twice := cm.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "must not be in binaryData too"))
		}
		errs = append(errs, dataKey(field.NewPath("data"), key)...)
	}
	for _, key := range slices.Sorted(maps.Keys(cm.BinaryData)) {
		errs = append(errs, dataKey(field.NewPath("binaryData"), key)...)
	}
	return errs
}

// Secret returns the rules that a defaulted Secret breaks.
func Secret(s *corev1.Secret) field.ErrorList {
	errs := metaOf(&s.ObjectMeta, true)
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		errs = append(errs, dataKey(field.NewPath("data"), key)...)
	}
	return append(errs, secretType(s)...)
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

// requiredKeys lists the keys that a Secret of a type must hold.
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
		case !ok || len(value) == 0 && s.Type == corev1.SecretTypeSSHAuth:
			errs = append(errs, field.Required(at.Key(key), fmt.Sprintf("for a Secret of type %s", s.Type)))
		case (key == corev1.DockerConfigKey || key == corev1.DockerConfigJsonKey) && !json.Valid(value):
			errs = append(errs, field.Invalid(at.Key(key), "<secret contents redacted>", "must be JSON"))
		}
	}
	_, user := s.Data[corev1.BasicAuthUsernameKey]
	_, password := s.Data[corev1.BasicAuthPasswordKey]
	if s.Type == corev1.SecretTypeBasicAuth && !user && !password {
		for _, key := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
			errs = append(errs, field.Required(at.Key(key), fmt.Sprintf("for a Secret of type %s, unless the other is given", s.Type)))
		}
	}
	if s.Type == corev1.SecretTypeServiceAccountToken && s.Annotations[corev1.ServiceAccountNameKey] == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
	}
	return errs
}
