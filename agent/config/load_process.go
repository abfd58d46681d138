package config

import (
	"net"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// usualCollector is the default address of OpenTelemetry's collectors.
const usualCollector = "localhost:4317"

func resolveProcess(o *Options) Process {
	k := &o.Kubelet
	return Process{
		LogFormat: k.Logging.Format, Verbosity: int(k.Logging.Verbosity), Tracing: resolveTracing(k),
		OOMScore: int(*k.OOMScoreAdj), OpenFiles: uint64(k.MaxOpenFiles), Blocks: k.EnableContentionProfiling,
		LockFile: o.LockFile, ExitOnContention: o.ExitOnContention,
	}
}

// validateLock refuses to watch for others that want a lock without one.
func validateLock(o *Options) field.ErrorList {
	return invalid(o.LockFile != "" || !o.ExitOnContention, field.NewPath("--exit-on-lock-contention"), true, "needs --lock-file")
}

func resolveTracing(k *kubelet.KubeletConfiguration) *Tracing {
	if k.Tracing == nil {
		return nil
	}
	t := &Tracing{Endpoint: usualCollector}
	if k.Tracing.Endpoint != nil {
		t.Endpoint = *k.Tracing.Endpoint
	}
	if k.Tracing.SamplingRatePerMillion != nil {
		t.PerMillion = *k.Tracing.SamplingRatePerMillion
	}
	return t
}

func validateTracing(k *kubelet.KubeletConfiguration) field.ErrorList {
	t := resolveTracing(k)
	if t == nil {
		return nil
	}
	path, rate := field.NewPath("tracing"), t.PerMillion
	errs := invalid(rate >= 0 && rate <= 1e6, path.Child("samplingRatePerMillion"), rate, "must be between 0 and 1000000")
	if host, port, err := net.SplitHostPort(t.Endpoint); err != nil || host == "" || port == "" {
		errs = append(errs, field.Invalid(path.Child("endpoint"), t.Endpoint, "must be host:port"))
	}
	return errs
}
