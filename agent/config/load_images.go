package config

import (
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

// validateImages checks how images are pulled and given up.
func validateImages(o *Options) (errs field.ErrorList) {
	k := &o.Kubelet
	for _, p := range []struct {
		name  string
		value int32
	}{
		{"imageGCHighThresholdPercent", *k.ImageGCHighThresholdPercent}, {"imageGCLowThresholdPercent", *k.ImageGCLowThresholdPercent},
	} {
		if p.value < 0 || p.value > 100 {
			errs = append(errs, field.Invalid(field.NewPath(p.name), p.value, "must be between 0 and 100"))
		}
	}
	if *k.ImageGCLowThresholdPercent >= *k.ImageGCHighThresholdPercent {
		errs = append(errs, field.Invalid(field.NewPath("imageGCLowThresholdPercent"), *k.ImageGCLowThresholdPercent, "must be less than imageGCHighThresholdPercent"))
	}
	if k.ImageMaximumGCAge.Duration != 0 && k.ImageMaximumGCAge.Duration <= k.ImageMinimumGCAge.Duration {
		errs = append(errs, field.Invalid(field.NewPath("imageMaximumGCAge"), k.ImageMaximumGCAge.Duration.String(), "must be 0, or greater than imageMinimumGCAge"))
	}
	if *k.RegistryPullQPS < 0 || k.RegistryBurst < 0 {
		errs = append(errs, field.Invalid(field.NewPath("registryPullQPS"), *k.RegistryPullQPS, "must be at least 0, as must registryBurst"))
	}
	switch k.ImagePullCredentialsVerificationPolicy {
	case kubelet.NeverVerify, kubelet.NeverVerifyPreloadedImages, kubelet.NeverVerifyAllowlistedImages, kubelet.AlwaysVerify:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("imagePullCredentialsVerificationPolicy"), k.ImagePullCredentialsVerificationPolicy,
			[]kubelet.ImagePullCredentialsVerificationPolicy{kubelet.NeverVerify, kubelet.NeverVerifyPreloadedImages, kubelet.NeverVerifyAllowlistedImages, kubelet.AlwaysVerify}))
	}
	if (o.ProviderConfig == "") != (o.ProviderPrograms == "") {
		errs = append(errs, field.Required(field.NewPath("--image-credential-provider-config"), "must be given together with --image-credential-provider-bin-dir"))
	}
	return errs
}
