package config

import kubelet "k8s.io/kubelet/config/v1beta1"

func resolveImages(k *kubelet.KubeletConfiguration) Images {
	i := Images{
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
