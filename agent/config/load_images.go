package config

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

func resolveImages(o *Options) Images {
	k := &o.Kubelet
	i := Images{
		Verify: k.ImagePullCredentialsVerificationPolicy, Allow: k.PreloadedImagesVerificationAllowlist,
		ProviderConfig: o.ProviderConfig, ProviderPrograms: o.ProviderPrograms,
		PerSecond: float64(*k.RegistryPullQPS), Burst: int(k.RegistryBurst),
		HighPercent: int(*k.ImageGCHighThresholdPercent), LowPercent: int(*k.ImageGCLowThresholdPercent),
		MinAge: k.ImageMinimumGCAge.Duration, MaxAge: k.ImageMaximumGCAge.Duration,
	}
	switch {
	case *k.SerializeImagePulls:
		i.Parallel = 1
	case k.MaxParallelImagePulls != nil:
		i.Parallel = int(*k.MaxParallelImagePulls)
	}
	return i
}

// verifications are the policies for images that are present.
var verifications = []string{
	string(kubelet.NeverVerify), string(kubelet.NeverVerifyPreloadedImages),
	string(kubelet.NeverVerifyAllowlistedImages), string(kubelet.AlwaysVerify),
}

// validateImages checks the settings of images together.
func validateImages(o *Options) (errs field.ErrorList) {
	k := &o.Kubelet
	if *k.ImageGCLowThresholdPercent >= *k.ImageGCHighThresholdPercent {
		errs = append(errs, field.Invalid(field.NewPath("imageGCLowThresholdPercent"), *k.ImageGCLowThresholdPercent, "must be less than imageGCHighThresholdPercent"))
	}
	if k.ImageMaximumGCAge.Duration != 0 && k.ImageMaximumGCAge.Duration <= k.ImageMinimumGCAge.Duration {
		errs = append(errs, field.Invalid(field.NewPath("imageMaximumGCAge"), k.ImageMaximumGCAge.Duration.String(), "must be 0, or greater than imageMinimumGCAge"))
	}
	if *k.RegistryPullQPS < 0 || k.RegistryBurst < 0 {
		errs = append(errs, field.Invalid(field.NewPath("registryPullQPS"), *k.RegistryPullQPS, "must be at least 0, as must registryBurst"))
	}
	if (o.ProviderConfig == "") != (o.ProviderPrograms == "") {
		path := field.NewPath("--image-credential-provider-config")
		errs = append(errs, field.Required(path, "must be given together with --image-credential-provider-bin-dir"))
	}
	if limit, err := resource.ParseQuantity(cmp.Or(o.ImportLimit, "1")); err != nil || limit.Value() <= 0 {
		path := field.NewPath("--image-import-limit")
		errs = append(errs, field.Invalid(path, o.ImportLimit, "must be a number of bytes above 0, such as 20Gi"))
	}
	return errs
}

// importLimit reads a number of bytes; nothing is 0.
func importLimit(text string) int64 {
	limit, err := resource.ParseQuantity(text)
	if err != nil {
		return 0 // empty: others do not pass validateImages
	}
	return limit.Value()
}
