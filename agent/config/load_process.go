package config

import (
	"math"
	"net"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// usualCollector is the default address of OpenTelemetry's collectors.
const usualCollector = "localhost:4317"

func resolveProcess(o *Options) Process {
	k := &o.Kubelet
	return Process{
		LogFormat: k.Logging.Format, LogSplit: splitLog(k), Verbosity: int(k.Logging.Verbosity), Files: fileLevels(k),
		Tracing:  resolveTracing(k),
		OOMScore: int(*k.OOMScoreAdj), OpenFiles: uint64(k.MaxOpenFiles), Blocks: k.EnableContentionProfiling,
		LockFile: o.LockFile, ExitOnContention: o.ExitOnContention,
	}
}

// splitLog returns the option of the format in use.
func splitLog(k *kubelet.KubeletConfiguration) bool {
	if k.Logging.Format == "json" {
		return k.Logging.Options.JSON.SplitStream
	}
	return k.Logging.Options.Text.SplitStream
}

func fileLevels(k *kubelet.KubeletConfiguration) (all []FileLevel) {
	for _, item := range k.Logging.VModule {
		all = append(all, FileLevel{item.FilePattern, int32(item.Verbosity)})
	}
	return all
}

// validateFiles checks the patterns of logging.vmodule.
func validateFiles(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	for i, item := range k.Logging.VModule {
		at := field.NewPath("logging", "vmodule").Index(i)
		_, err := path.Match(item.FilePattern, "")
		good := err == nil && item.FilePattern != "" && !strings.ContainsAny(item.FilePattern, "=,")
		errs = append(errs, invalid(good, at.Child("filePattern"), item.FilePattern,
			"must be a pattern for names of files, such as reconciler or sandbox*")...)
		errs = append(errs, invalid(item.Verbosity <= math.MaxInt32, at.Child("verbosity"), uint32(item.Verbosity),
			"must be at most 2147483647")...)
	}
	return errs
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
	at, rate := field.NewPath("tracing"), t.PerMillion
	errs := invalid(rate >= 0 && rate <= 1e6, at.Child("samplingRatePerMillion"), rate, "must be between 0 and 1000000")
	if host, port, err := net.SplitHostPort(t.Endpoint); err != nil || host == "" || port == "" {
		errs = append(errs, field.Invalid(at.Child("endpoint"), t.Endpoint, "must be host:port"))
	}
	return errs
}
