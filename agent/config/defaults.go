package config

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// Where the settings that are not KubeletConfiguration fields start from.
const (
	// DefaultSandboxImage is Kubernetes' usual image, for a binary without a bundled one.
	DefaultSandboxImage = "registry.k8s.io/pause:3.10.1"

	DefaultRoot    = "/var/lib/kubelet"
	DefaultPodLogs = "/var/log/pods"
	DefaultSocket  = "/run/nodal/node.sock" // clients look for the agent there too
)

// defaultPodPids is more than any sound pod needs, and far less than a machine has.
const defaultPodPids = 4096

// A difference is a default of ours that is not upstream's.
type difference struct{ field, ours, why string }

// differences lists every default that is not upstream's; --help prints it.
var differences = []difference{
	{"authentication.anonymous.enabled", "false", "upstream turns it on when there is no --config file"},
	{"authentication.webhook.enabled", "false without --kubeconfig", "a TokenReview needs an API server"},
	{"authorization.mode", "unset without --kubeconfig: the node's own roles", "Webhook needs an API server; AlwaysAllow, upstream's default without a file, is unsafe"},
	{"readOnlyPort", "0", "upstream opens 10255 when there is no --config file"},
	{"containerRuntimeEndpoint", "unset: the built-in containerd", "upstream uses unix:///run/containerd/containerd.sock"},
	{"failCgroupV1", "false", "Nodal supports cgroup v1 and v2"},
	{"podPidsLimit", strconv.Itoa(defaultPodPids), "a fork bomb stays within its pod; -1 for no limit, upstream's default"},
	{"seccompDefault", "true", "most containers need few system calls; upstream's default is false"},
}

// setDefaults fills every field that is not set. A zero value counts as not
// set, as upstream has it, so it runs before the flags: a flag may say zero.
func setDefaults(k *kubelet.KubeletConfiguration) {
	k.Kind, k.APIVersion = kind, kubelet.SchemeGroupVersion.String()
	setServerDefaults(k)
	setClusterDefaults(k)
	setPodDefaults(k)
	setResourceDefaults(k)
	setImageAndLogDefaults(k)
}

// setMemberDefaults fills the defaults that differ for a node in a cluster.
func setMemberDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.Authentication.Webhook.Enabled, true)
	value(&k.Authorization.Mode, kubelet.KubeletAuthorizationModeWebhook)
}

func setServerDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.EnableServer, true)
	value(&k.Address, "0.0.0.0")
	value(&k.Port, 10250)
	pointer(&k.HealthzPort, 10248)
	value(&k.HealthzBindAddress, "127.0.0.1")
	pointer(&k.Authentication.Anonymous.Enabled, false)
	pointer(&k.Authentication.Webhook.Enabled, false)
	value(&k.Authentication.Webhook.CacheTTL, minutes(2))
	value(&k.Authorization.Webhook.CacheAuthorizedTTL, minutes(5))
	value(&k.Authorization.Webhook.CacheUnauthorizedTTL, seconds(30))
	pointer(&k.EnableDebuggingHandlers, true)
	pointer(&k.EnableSystemLogHandler, true)
	pointer(&k.EnableProfilingHandler, true)
	pointer(&k.EnableDebugFlagsHandler, true)
	value(&k.StreamingConnectionIdleTimeout, seconds(4*60*60))
}

func setClusterDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.RegisterNode, true)
	// A status that is computed on a chosen beat is also reported on it.
	if k.NodeStatusUpdateFrequency.Duration != 0 {
		value(&k.NodeStatusReportFrequency, k.NodeStatusUpdateFrequency)
	}
	value(&k.NodeStatusReportFrequency, minutes(5))
	value(&k.NodeStatusUpdateFrequency, seconds(10))
	value(&k.NodeLeaseDurationSeconds, 40)
	pointer(&k.NodeStatusMaxImages, 50)
	value(&k.ContentType, "application/vnd.kubernetes.protobuf")
	pointer(&k.KubeAPIQPS, 50)
	value(&k.KubeAPIBurst, 100)
	pointer(&k.EventRecordQPS, 50)
	value(&k.EventBurst, 100)
	value(&k.ConfigMapAndSecretChangeDetectionStrategy, kubelet.WatchChangeDetectionStrategy)
	pointer(&k.EnableControllerAttachDetach, true)
}

func setPodDefaults(k *kubelet.KubeletConfiguration) {
	value(&k.SyncFrequency, minutes(1))
	value(&k.FileCheckFrequency, seconds(20))
	value(&k.HTTPCheckFrequency, seconds(20))
	value(&k.RuntimeRequestTimeout, minutes(2))
	value(&k.MaxPods, 110)
	pointer(&k.PodPidsLimit, defaultPodPids)
	pointer(&k.CrashLoopBackOff.MaxContainerRestartPeriod, seconds(300))
	pointer(&k.ResolverConfig, "/etc/resolv.conf")
	value(&k.HairpinMode, kubelet.PromiscuousBridge)
	pointer(&k.SeccompDefault, true)
	value(&k.VolumePluginDir, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")
	value(&k.VolumeStatsAggPeriod, minutes(1))
	pointer(&k.LocalStorageCapacityIsolation, true)
	pointer(&k.MakeIPTablesUtilChains, true)
	pointer(&k.IPTablesMasqueradeBit, 14)
	pointer(&k.IPTablesDropBit, 15)
}

func setResourceDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.OOMScoreAdj, -999)
	value(&k.MaxOpenFiles, 1_000_000)
	pointer(&k.CgroupsPerQOS, true)
	value(&k.CgroupDriver, "cgroupfs")
	value(&k.CPUManagerPolicy, "none")
	value(&k.CPUManagerReconcilePeriod, seconds(10))
	value(&k.MemoryManagerPolicy, kubelet.NoneMemoryManagerPolicy)
	value(&k.MemoryReservationPolicy, kubelet.NoneMemoryReservationPolicy)
	value(&k.TopologyManagerPolicy, kubelet.NoneTopologyManagerPolicy)
	value(&k.TopologyManagerScope, kubelet.ContainerTopologyManagerScope)
	pointer(&k.CPUCFSQuota, true)
	pointer(&k.CPUCFSQuotaPeriod, metav1.Duration{Duration: 100 * time.Millisecond})
	pointer(&k.FailSwapOn, true)
	pointer(&k.FailCgroupV1, false)
	if k.EvictionHard == nil {
		k.EvictionHard = map[string]string{
			"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
			"imagefs.available": "15%", "imagefs.inodesFree": "5%",
		}
	}
	value(&k.EvictionPressureTransitionPeriod, minutes(5))
	pointer(&k.MergeDefaultEvictionSettings, false)
	// An empty list is a choice (enforce nothing), so only nil is filled.
	if k.EnforceNodeAllocatable == nil {
		k.EnforceNodeAllocatable = []string{"pods"}
	}
}

func setImageAndLogDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.RegistryPullQPS, 5)
	value(&k.RegistryBurst, 10)
	// Whoever allows parallel pulls need not also turn off serial ones.
	pointer(&k.SerializeImagePulls, k.MaxParallelImagePulls == nil || *k.MaxParallelImagePulls < 2)
	value(&k.ImagePullCredentialsVerificationPolicy, kubelet.NeverVerifyPreloadedImages)
	value(&k.ImageMinimumGCAge, minutes(2))
	pointer(&k.ImageGCHighThresholdPercent, 85)
	pointer(&k.ImageGCLowThresholdPercent, 80)
	value(&k.PodLogsDir, DefaultPodLogs)
	value(&k.ContainerLogMaxSize, "10Mi")
	pointer(&k.ContainerLogMaxFiles, 5)
	pointer(&k.ContainerLogMaxWorkers, 1)
	pointer(&k.ContainerLogMonitorInterval, seconds(10))
	logsapi.SetRecommendedLoggingConfiguration(&k.Logging)
}

// value sets *field to def when it still has its zero value.
func value[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// pointer sets *field to a pointer to def when it is nil.
func pointer[T any](field **T, def T) {
	if *field == nil {
		*field = &def
	}
}

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
func minutes(n int) metav1.Duration { return seconds(60 * n) }
