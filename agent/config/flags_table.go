package config

import (
	"errors"
	"slices"
)

// A fieldFlag is a flag that is another name for a field of the file.
type fieldFlag struct {
	name, field string
	usage       string // empty when the field is not honoured
}

// separator returns the text between name and value: eviction thresholds are
// written memory.available<100Mi.
func (f fieldFlag) separator() string {
	if f.name == "eviction-hard" || f.name == "eviction-soft" {
		return "<"
	}
	return "="
}

// fieldFlags has upstream's names, the honoured ones in the order of --help.
var fieldFlags = []fieldFlag{
	{"container-runtime-endpoint", "containerRuntimeEndpoint", "`endpoint` of the container runtime, CRI v1 (default: the built-in containerd)"},
	{"image-service-endpoint", "imageServiceEndpoint", "`endpoint` of the image service (default: the runtime's)"},
	{"runtime-request-timeout", "runtimeRequestTimeout", "time limit of each runtime request except pull, logs, exec and attach"},
	{"pod-cidr", "podCIDR", "pod `subnet` of the built-in runtime, or one IPv4 and one IPv6 subnet joined by a comma (default: unused ones)"},
	{"max-pods", "maxPods", "`number` of pods that may run at the same time"},

	{"rotate-certificates", "rotateCertificates", "renew the client certificate before it expires"},
	{"register-node", "registerNode", "create the Node object if it does not exist"},
	{"provider-id", "providerID", "`id` of the machine at its cloud provider"},
	{"node-status-update-frequency", "nodeStatusUpdateFrequency", "`interval` between computations of the node's status; a changed status is sent to the API server"},
	{"node-status-max-images", "nodeStatusMaxImages", "`number` of images that the Node object lists, largest first; -1 for all"},
	{"kube-api-qps", "kubeAPIQPS", "requests per second to the API server"},
	{"kube-api-burst", "kubeAPIBurst", "`number` of requests to the API server that may exceed --kube-api-qps in a burst"},
	{"event-qps", "eventRecordQPS", "events per second to the API server; 0 for no limit"},
	{"event-burst", "eventBurst", "`number` of events that may exceed --event-qps in a burst"},

	{"resolv-conf", "resolvConf", "`path` of the resolver configuration that pods inherit"},
	{"cluster-dns", "clusterDNS", "`IPs` of DNS servers for pods with dnsPolicy ClusterFirst"},
	{"cluster-domain", "clusterDomain", "DNS `domain` of the cluster, such as cluster.local"},
	{"seccomp-default", "seccompDefault", "use the runtime's default seccomp profile for containers without one"},
	{"allowed-unsafe-sysctls", "allowedUnsafeSysctls", "`names` of sysctls, or prefixes with a star, that pods may set in addition to the safe ones"},
	{"serialize-image-pulls", "serializeImagePulls", "pull one image at a time"},
	{"registry-qps", "registryPullQPS", "image pulls per second; 0 for no limit"},
	{"registry-burst", "registryBurst", "`number` of pulls that may exceed --registry-qps in a burst"},
	{"image-gc-high-threshold", "imageGCHighThresholdPercent", "`percent` of disk usage above which unused images are removed"},
	{"image-gc-low-threshold", "imageGCLowThresholdPercent", "`percent` of disk usage at which the removal of images stops"},
	{"minimum-image-ttl-duration", "imageMinimumGCAge", "`age` below which an unused image is not removed"},

	{"protect-kernel-defaults", "protectKernelDefaults", "refuse to start if a sysctl differs from the value that a node needs"},
	{"cgroups-per-qos", "cgroupsPerQOS", "give each pod a cgroup of its own under kubepods, and enforce its limits there"},
	{"cgroup-root", "cgroupRoot", "parent `cgroup` of kubepods (default: the root cgroup)"},
	{"cgroup-driver", "cgroupDriver", "`cgroupfs or systemd` for the built-in runtime (default: detected), and for another runtime that does not report its driver"},
	{"cpu-cfs-quota", "cpuCFSQuota", "enforce the CPU limits of containers"},
	{"cpu-cfs-quota-period", "cpuCFSQuotaPeriod", "`period` over which a CPU limit is enforced, 1ms to 1s"},
	{"fail-swap-on", "failSwapOn", "refuse to start on a machine with swap"},
	{"kube-reserved", "kubeReserved", "`amounts` reserved for the kubelet and the runtime: cpu=200m,memory=500Mi,ephemeral-storage=1Gi,pid=1000"},
	{"system-reserved", "systemReserved", "`amounts` reserved for the other programs of the machine, in the same form"},
	{"eviction-hard", "evictionHard", "`thresholds` at which pods are evicted: memory.available<100Mi,nodefs.available<10%; this much is not allocatable"},
	{"eviction-pressure-transition-period", "evictionPressureTransitionPeriod", "how long a shortage must be over before the node's pressure condition ends"},
	{"enforce-node-allocatable", "enforceNodeAllocatable", "`groups` whose limits are enforced: pods, system-reserved, kube-reserved, or the latter two with -compressible for CPU only; or none"},
	{"kube-reserved-cgroup", "kubeReservedCgroup", "`cgroup` of the kubelet and the runtime, limited by --kube-reserved"},
	{"system-reserved-cgroup", "systemReservedCgroup", "`cgroup` of the machine's other programs, limited by --system-reserved"},
	{"cpu-manager-policy", "cpuManagerPolicy", "`none or static`: with static, containers of Guaranteed pods with whole CPUs have those CPUs to themselves"},
	{"cpu-manager-policy-options", "cpuManagerPolicyOptions", "`options` of the static CPU policy: full-pcpus-only=true, distribute-cpus-across-numa=true, distribute-cpus-across-cores=true, strict-cpu-reservation=true, prefer-align-cpus-by-uncorecache=true"},
	{"memory-manager-policy", "memoryManagerPolicy", "`None or Static`: with Static, containers of Guaranteed pods have memory of chosen NUMA nodes; needs reservedMemory in the --config file"},
	{"topology-manager-policy", "topologyManagerPolicy", "`policy` for taking CPUs and memory from the same NUMA nodes: none, best-effort, restricted or single-numa-node"},
	{"topology-manager-policy-options", "topologyManagerPolicyOptions", "`options` of --topology-manager-policy: max-allowable-numa-nodes=16, prefer-closest-numa-nodes=true"},
	{"topology-manager-scope", "topologyManagerScope", "`container or pod`: whether --topology-manager-policy aligns each container or the whole pod"},
	{"reserved-cpus", "reservedSystemCPUs", "`CPUs` that no container has to itself, such as 0-1; they replace the CPU amounts of --kube-reserved and --system-reserved"},
	{"pod-max-pids", "podPidsLimit", "`number` of processes that a pod may have; -1 for no limit"},
	{"local-storage-capacity-isolation", "localStorageCapacityIsolation", "evict pods that exceed their limits of ephemeral storage"},

	{"pod-manifest-path", "staticPodPath", "`path` of a directory of pod manifests, or of one manifest"},
	{"file-check-frequency", "fileCheckFrequency", "`interval` at which --pod-manifest-path is read again, even without a change notification"},
	{"manifest-url", "staticPodURL", "`URL` of pod manifests"},
	{"manifest-url-header", "staticPodURLHeader", "`headers` for requests to --manifest-url: 'name:value,name:value'; may be repeated"},
	{"http-check-frequency", "httpCheckFrequency", "`interval` at which --manifest-url is read"},
	{"runonce", "runOnce", "start the pods of --pod-manifest-path and --manifest-url, wait until they run, print a report and exit; opens no port"},

	{"enable-server", "enableServer", "open --port"},
	{"address", "address", "`IP` to listen on"},
	{"port", "port", "TLS `port` of the kubelet, 1 to 65535; --enable-server=false closes it"},
	{"read-only-port", "readOnlyPort", "read-only `port` without TLS, on loopback unless --address is given; 0 to disable"},
	{"healthz-bind-address", "healthzBindAddress", "`IP` that --healthz-port listens on"},
	{"healthz-port", "healthzPort", "plain `port` that serves /healthz only; 0 to disable"},
	{"enable-debugging-handlers", "enableDebuggingHandlers", "serve logs, exec, attach, port-forward and run on the kubelet's paths"},

	{"anonymous-auth", "authentication.anonymous.enabled", "accept requests without credentials, as user system:anonymous"},
	{"authorization-mode", "authorization.mode", "`mode`: empty (the node's own roles), Webhook (users without a role: ask the cluster; default with --kubeconfig) or AlwaysAllow"},
	{"authentication-token-webhook", "authentication.webhook.enabled", "let the cluster check tokens that the node does not know (default: true with --kubeconfig)"},
	{"authentication-token-webhook-cache-ttl", "authentication.webhook.cacheTTL", "how long the cluster's answer about a token is cached"},
	{"authorization-webhook-cache-authorized-ttl", "authorization.webhook.cacheAuthorizedTTL", "how long a permission that the cluster granted is cached"},
	{"authorization-webhook-cache-unauthorized-ttl", "authorization.webhook.cacheUnauthorizedTTL", "how long a permission that the cluster denied is cached"},
	{"rotate-server-certificates", "serverTLSBootstrap", "request the serving certificate from the cluster and renew it before it expires; until the first one is issued, use the node's own"},
	{"client-ca-file", "authentication.x509.clientCAFile", "`file` of CA certificates; client certificates that they signed are accepted"},
	{"tls-cert-file", "tlsCertFile", "serving certificate `file` (default: one made in --cert-dir)"},
	{"tls-private-key-file", "tlsPrivateKeyFile", "key `file` of --tls-cert-file"},

	{"container-log-max-size", "containerLogMaxSize", "`size` at which a container's log is rotated, such as 10Mi; below 0 for no limit"},
	{"container-log-max-files", "containerLogMaxFiles", "`number` of log files that are kept per container, at least 2"},

	{"v", "logging.verbosity", "log `level`; 0 logs the least"},
	{"logging-format", "logging.format", "log `format`: text or json"},

	{"contention-profiling", "enableContentionProfiling", ""},
	{"cpu-manager-reconcile-period", "cpuManagerReconcilePeriod", ""},
	{"enable-controller-attach-detach", "enableControllerAttachDetach", ""},
	{"eviction-max-pod-grace-period", "evictionMaxPodGracePeriod", ""},
	{"eviction-minimum-reclaim", "evictionMinimumReclaim", ""},
	{"eviction-soft", "evictionSoft", ""},
	{"eviction-soft-grace-period", "evictionSoftGracePeriod", ""},
	{"feature-gates", "featureGates", ""},
	{"hairpin-mode", "hairpinMode", ""},
	{"kernel-memcg-notification", "kernelMemcgNotification", ""},
	{"kube-api-content-type", "contentType", ""},
	{"kubelet-cgroups", "kubeletCgroups", ""},
	{"make-iptables-util-chains", "makeIPTablesUtilChains", ""},
	{"max-open-files", "maxOpenFiles", ""},
	{"oom-score-adj", "oomScoreAdj", ""},
	{"pods-per-core", "podsPerCore", ""},
	{"qos-reserved", "qosReserved", ""},
	{"streaming-connection-idle-timeout", "streamingConnectionIdleTimeout", ""},
	{"sync-frequency", "syncFrequency", ""},
	{"system-cgroups", "systemCgroups", ""},
	{"tls-cipher-suites", "tlsCipherSuites", ""},
	{"tls-min-version", "tlsMinVersion", ""},
	{"volume-plugin-dir", "volumePluginDir", ""},
	{"volume-stats-agg-period", "volumeStatsAggPeriod", ""},
}

// ignoredFlags occur in real command lines and have no field in the file. They
// are accepted without effect, and Unhonoured names them.
var ignoredFlags = []string{
	"log-flush-frequency",
	"runtime-cgroups",
	"vmodule",
}

// A refusedFlag stops the start, because the node cannot do what it asks for.
type refusedFlag struct{ name, why string }

// refuse returns an error for every value but the empty one.
func (r refusedFlag) refuse(value string) error {
	if value == "" {
		return nil
	}
	return errors.New(r.why)
}

var refusedFlags = []refusedFlag{
	{"lock-file", "lock files are not supported; leave the flag out"},
	{"reserved-memory", "set reservedMemory in the --config file"},
}

// honouredFlag reports whether the flag has an effect.
func honouredFlag(name string) bool {
	if i := slices.IndexFunc(fieldFlags, func(f fieldFlag) bool { return f.name == name }); i >= 0 {
		return fieldFlags[i].usage != ""
	}
	return !slices.Contains(ignoredFlags, name) &&
		!slices.ContainsFunc(refusedFlags, func(r refusedFlag) bool { return r.name == name })
}
