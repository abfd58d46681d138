package config

import (
	"reflect"
	"slices"

	kubelet "k8s.io/kubelet/config/v1beta1"
)

// honoured lists the fields that have an effect. A field moves here from
// notHonoured in the change that makes it work; every field is in one of both.
var honoured = []string{
	"address",
	"allowedUnsafeSysctls",
	"authentication.anonymous.enabled",
	"authentication.webhook.cacheTTL",
	"authentication.webhook.enabled",
	"authentication.x509.clientCAFile",
	"authorization.mode",
	"authorization.webhook.cacheAuthorizedTTL",
	"authorization.webhook.cacheUnauthorizedTTL",
	"cgroupDriver",
	"cgroupRoot",
	"cgroupsPerQOS",
	"clusterDNS",
	"clusterDomain",
	"containerLogMaxFiles",
	"containerLogMaxSize",
	"containerLogMaxWorkers",
	"containerLogMonitorInterval",
	"containerRuntimeEndpoint",
	"cpuCFSQuota",
	"cpuCFSQuotaPeriod",
	"cpuManagerPolicy",
	"cpuManagerPolicyOptions",
	"crashLoopBackOff.maxContainerRestartPeriod",
	"defaultPodSysctls",
	"enableDebugFlagsHandler",
	"enableDebuggingHandlers",
	"enableProfilingHandler",
	"enableServer",
	"enforceNodeAllocatable",
	"eventBurst",
	"eventRecordQPS",
	"evictionHard",
	"evictionPressureTransitionPeriod",
	"failCgroupV1",
	"failSwapOn",
	"fileCheckFrequency",
	"healthzBindAddress",
	"healthzPort",
	"httpCheckFrequency",
	"imageGCHighThresholdPercent",
	"imageGCLowThresholdPercent",
	"imageMaximumGCAge",
	"imageMinimumGCAge",
	"imagePullCredentialsVerificationPolicy",
	"imageServiceEndpoint",
	"kubeAPIBurst",
	"kubeAPIQPS",
	"kubeReserved",
	"kubeReservedCgroup",
	"localStorageCapacityIsolation",
	"logging.format",
	"logging.verbosity",
	"maxParallelImagePulls",
	"maxPods",
	"memoryManagerPolicy",
	"memorySwap.swapBehavior",
	"nodeLeaseDurationSeconds",
	"nodeStatusMaxImages",
	"nodeStatusReportFrequency",
	"nodeStatusUpdateFrequency",
	"podCIDR",
	"podLogsDir",
	"podPidsLimit",
	"port",
	"preloadedImagesVerificationAllowlist",
	"protectKernelDefaults",
	"providerID",
	"readOnlyPort",
	"registerNode",
	"registerWithTaints",
	"registryBurst",
	"registryPullQPS",
	"reservedMemory",
	"reservedSystemCPUs",
	"resolvConf",
	"rotateCertificates",
	"runOnce",
	"runtimeRequestTimeout",
	"seccompDefault",
	"serializeImagePulls",
	"serverTLSBootstrap",
	"singleProcessOOMKill",
	"staticPodPath",
	"staticPodURL",
	"staticPodURLHeader",
	"systemReserved",
	"systemReservedCgroup",
	"tlsCertFile",
	"tlsPrivateKeyFile",
	"topologyManagerPolicy",
	"topologyManagerPolicyOptions",
	"topologyManagerScope",
	"tracing",
	"userNamespaces",
}

// notHonoured lists the fields that decode, come back in Configz, and have no
// effect yet.
var notHonoured = []string{
	// Need an API server.
	"configMapAndSecretChangeDetectionStrategy",
	"contentType",
	"enableControllerAttachDetach",

	// Network and name resolution in pods.
	"hairpinMode",
	"iptablesDropBit",
	"iptablesMasqueradeBit",
	"makeIPTablesUtilChains",

	// Cgroups, CPUs, memory and devices.
	"cpuManagerReconcilePeriod",
	"kubeletCgroups",
	"memoryReservationPolicy",
	"memoryThrottlingFactor",
	"podsPerCore",
	"qosReserved",
	"systemCgroups",

	// Eviction and images.
	"evictionMaxPodGracePeriod",
	"evictionMinimumReclaim",
	"evictionSoft",
	"evictionSoftGracePeriod",
	"kernelMemcgNotification",
	"mergeDefaultEvictionSettings",

	// Isolation and the host.
	"maxOpenFiles",
	"oomScoreAdj",
	"shutdownGracePeriod",
	"shutdownGracePeriodByPodPriority",
	"shutdownGracePeriodCriticalPods",
	"volumePluginDir",
	"volumeStatsAggPeriod",

	// Serving, logs and diagnosis.
	"enableContentionProfiling",
	"enableSystemLogHandler",
	"enableSystemLogQuery",
	"featureGates",
	"logging.flushFrequency",
	"logging.options.json.infoBufferSize",
	"logging.options.json.splitStream",
	"logging.options.text.infoBufferSize",
	"logging.options.text.splitStream",
	"logging.vmodule",
	"showHiddenMetricsForVersion",
	"streamingConnectionIdleTimeout",
	"syncFrequency",
	"tlsCipherSuites",
	"tlsCurvePreferences",
	"tlsMinVersion",
}

// Unhonoured names, sorted, the fields and flags that were set and that
// have no effect yet, for the daemon to list once at its start.
func Unhonoured(c *Config) []string {
	var plain kubelet.KubeletConfiguration
	setDefaults(&plain)
	defaults := make(map[string]any)
	for path, v := range fields(&plain) {
		defaults[path] = v.Interface()
	}

	names := slices.Clone(c.given.ignoredFlags)
	for path, v := range fields(&c.given.kubelet) {
		if slices.Contains(notHonoured, path) && !reflect.DeepEqual(v.Interface(), defaults[path]) {
			names = append(names, path)
		}
	}
	if c.Runtime.Endpoint != "" && len(c.Runtime.PodCIDRs) > 0 {
		names = append(names, "podCIDR (with --container-runtime-endpoint the runtime's own CNI configuration decides)")
	}
	if c.Cluster.Kubeconfig == "" {
		names = append(names, forMembers(c.Auth)...)
	}
	if !reflect.DeepEqual(c.given.kubelet.EvictionHard, plain.EvictionHard) {
		names = append(names, "evictionHard (it reduces allocatable, and new pods are refused during a shortage, but no pod is evicted)")
	}
	slices.Sort(names)
	return names
}

// forMembers names the settings that need a cluster.
func forMembers(a Auth) (names []string) {
	if a.Tokens {
		names = append(names, "authentication.webhook.enabled (without --kubeconfig)")
	}
	if a.Mode == AuthWebhook {
		names = append(names, "authorization.mode=Webhook (without --kubeconfig the node's own roles decide)")
	}
	if a.Serving {
		names = append(names, "serverTLSBootstrap (without --kubeconfig)")
	}
	return names
}
