package config

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// The defaults of settings that are no field of the file, or that others need to know.
const (
	// DefaultSandboxImage is Kubernetes' usual image, for a binary without a bundled one.
	DefaultSandboxImage = "registry.k8s.io/pause:3.10.1"

	DefaultRoot    = "/var/lib/kubelet"
	DefaultPodLogs = "/var/log/pods"
	logLinks       = "/var/log/containers"  // in Kubernetes no setting changes it
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

// setDefaults fills every field that is not set: with a default that follows from other fields, or else with that of
// the table. It runs before the flags, because a flag may say zero.
func setDefaults(k *kubelet.KubeletConfiguration) {
	k.Kind, k.APIVersion = kind, kubelet.SchemeGroupVersion.String()
	// A status that is computed on a chosen beat is also reported on it.
	if k.NodeStatusUpdateFrequency.Duration != 0 {
		value(&k.NodeStatusReportFrequency, k.NodeStatusUpdateFrequency)
	}
	// Parallel pulls need not be allowed twice.
	pointer(&k.SerializeImagePulls, k.MaxParallelImagePulls == nil || *k.MaxParallelImagePulls < 2)
	mergeThresholds(k)
	// An empty list is a choice (enforce nothing), so only nil is filled.
	if k.EnforceNodeAllocatable == nil {
		k.EnforceNodeAllocatable = []string{"pods"}
	}
	logsapi.SetRecommendedLoggingConfiguration(&k.Logging)
	settings := fieldSettings()
	for path, field := range fields(k) {
		settings[path].fill(field)
	}
}

// setMemberDefaults fills the defaults that differ for a node in a cluster.
func setMemberDefaults(k *kubelet.KubeletConfiguration) {
	pointer(&k.Authentication.Webhook.Enabled, true)
	value(&k.Authorization.Mode, kubelet.KubeletAuthorizationModeWebhook)
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

func milliseconds(n int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n) * time.Millisecond}
}
func seconds(n int) metav1.Duration { return milliseconds(1000 * n) }
func minutes(n int) metav1.Duration { return seconds(60 * n) }
