package rules

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// Kubernetes gives out no token for less than ten minutes.
const minTokenSeconds, maxTokenSeconds = 600, 1 << 32

func (c volumeCheck) projected(p *corev1.ProjectedVolumeSource, at *field.Path) {
	c.mode(at.Child("defaultMode"), p.DefaultMode)
	seen := map[string]bool{}
	for i, source := range p.Sources {
		if source == (corev1.VolumeProjection{}) {
			continue // so API servers leave a source that they do not know
		}
		path := at.Child("sources").Index(i)
		c.exactlyOne(path,
			member{"secret", source.Secret != nil}, member{"configMap", source.ConfigMap != nil},
			member{"downwardAPI", source.DownwardAPI != nil}, member{"serviceAccountToken", source.ServiceAccountToken != nil},
			member{"clusterTrustBundle", source.ClusterTrustBundle != nil}, member{"podCertificate", source.PodCertificate != nil})
		c.projection(source, path, seen)
	}
}

func (c volumeCheck) projection(source corev1.VolumeProjection, at *field.Path, seen map[string]bool) {
	if s := source.Secret; s != nil {
		c.given(at.Child("secret", "name"), s.Name)
		c.keysToPaths(s.Items, at.Child("secret", "items"), seen)
	}
	if m := source.ConfigMap; m != nil {
		c.given(at.Child("configMap", "name"), m.Name)
		c.keysToPaths(m.Items, at.Child("configMap", "items"), seen)
	}
	if d := source.DownwardAPI; d != nil {
		c.downwardFiles(d.Items, at.Child("downwardAPI", "items"), seen)
	}
	if t := source.ServiceAccountToken; t != nil {
		c.token(t, at.Child("serviceAccountToken"), seen)
	}
	if b := source.ClusterTrustBundle; b != nil {
		c.trustBundle(b, at.Child("clusterTrustBundle"), seen)
	}
	if p := source.PodCertificate; p != nil {
		c.podCertificate(p, at.Child("podCertificate"), seen)
	}
}

func (c volumeCheck) token(t *corev1.ServiceAccountTokenProjection, at *field.Path, seen map[string]bool) {
	c.filePath(at.Child("path"), t.Path, seen)
	if t.ExpirationSeconds != nil {
		c.between(at.Child("expirationSeconds"), *t.ExpirationSeconds, minTokenSeconds, maxTokenSeconds)
	}
	if c.pod.Spec.ServiceAccountName == "" {
		c.refused(at, "must not be specified when serviceAccountName is not set")
	}
}

func (c volumeCheck) trustBundle(b *corev1.ClusterTrustBundleProjection, at *field.Path, seen map[string]bool) {
	c.filePath(at.Child("path"), b.Path, seen)
	c.exactlyOne(at, member{"name", b.Name != nil}, member{"signerName", b.SignerName != nil})
	if b.Name != nil {
		c.name(at.Child("name"), *b.Name, func(name string) []string { return bundleName(name, node.SignerOf(name)) })
		if b.LabelSelector != nil {
			c.refused(at.Child("labelSelector"), "may only be set with signerName")
		}
	}
	if b.SignerName != nil {
		c.name(at.Child("signerName"), *b.SignerName, signerName)
	}
	c.errs = append(c.errs, metav1validation.ValidateLabelSelector(b.LabelSelector,
		metav1validation.LabelSelectorValidationOptions{}, at.Child("labelSelector"))...)
}

func (c volumeCheck) podCertificate(p *corev1.PodCertificateProjection, at *field.Path, seen map[string]bool) {
	c.name(at.Child("signerName"), p.SignerName, signerName)
	oneOf(c.check, at.Child("keyType"), p.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if p.MaxExpirationSeconds != nil {
		c.between(at.Child("maxExpirationSeconds"), int64(*p.MaxExpirationSeconds), 3600, 91*24*3600)
	}
	if p.CredentialBundlePath == "" && p.KeyPath == "" && p.CertificateChainPath == "" {
		c.missing(at, "must specify credentialBundlePath, keyPath or certificateChainPath")
	}
	c.optionalFilePath(at.Child("credentialBundlePath"), p.CredentialBundlePath, seen)
	c.optionalFilePath(at.Child("keyPath"), p.KeyPath, seen)
	c.optionalFilePath(at.Child("certificateChainPath"), p.CertificateChainPath, seen)
}
