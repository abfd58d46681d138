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

// separator is what stands between name and value: eviction thresholds are
// written memory.available<100Mi.
func (f fieldFlag) separator() string {
	if f.name == "eviction-hard" || f.name == "eviction-soft" {
		return "<"
	}
	return "="
}

// fieldFlags has upstream's names, the honoured ones in the order of --help.
var fieldFlags = []fieldFlag{
	{"container-runtime-endpoint", "containerRuntimeEndpoint", "`endpoint` of the container runtime (CRI v1; default: a containerd of the node's own)"},
	{"image-service-endpoint", "imageServiceEndpoint", "`endpoint` of the image service (default: the runtime's)"},
	{"runtime-request-timeout", "runtimeRequestTimeout", "limit for each runtime request but pull, logs, exec and attach"},
	{"pod-cidr", "podCIDR", "`subnet` for pods on the node's own runtime, or one of each family joined by a comma (default: free ones)"},
	{"max-pods", "maxPods", "`number` of pods that may run at once"},

	{"rotate-certificates", "rotateCertificates", "ask the cluster for another client certificate before the present one runs out"},
	{"register-node", "registerNode", "make the Node object if it is not there"},
	{"provider-id", "providerID", "`id` by which the cloud knows the machine"},
	{"node-status-update-frequency", "nodeStatusUpdateFrequency", "how often the node's status is made, and sent to the API server if it has changed"},
	{"node-status-max-images", "nodeStatusMaxImages", "how many images the Node object names, the largest; -1: all"},
	{"kube-api-qps", "kubeAPIQPS", "requests to the API server in a second"},
	{"kube-api-burst", "kubeAPIBurst", "how many of them at once"},
	{"event-qps", "eventRecordQPS", "events that are told to the API server in a second; 0: no bound"},
	{"event-burst", "eventBurst", "how many of them at once"},

	{"resolv-conf", "resolvConf", "`path` of the resolver configuration that pods inherit"},
	{"cluster-dns", "clusterDNS", "`IPs` of DNS servers for pods with dnsPolicy ClusterFirst"},
	{"cluster-domain", "clusterDomain", "`domain` that those servers serve"},
	{"seccomp-default", "seccompDefault", "give containers without a seccomp profile the runtime's own"},
	{"allowed-unsafe-sysctls", "allowedUnsafeSysctls", "`names` of sysctls, or beginnings and a star, that pods may set besides the safe ones"},
	{"serialize-image-pulls", "serializeImagePulls", "pull one image at a time"},
	{"registry-qps", "registryPullQPS", "pulls that may begin in a second; 0: no bound"},
	{"registry-burst", "registryBurst", "how many of them at once"},
	{"image-gc-high-threshold", "imageGCHighThresholdPercent", "`percent` of the images' disk above which images go"},
	{"image-gc-low-threshold", "imageGCLowThresholdPercent", "`percent` of it at which no more have to go"},
	{"minimum-image-ttl-duration", "imageMinimumGCAge", "how long an image stays at least"},

	{"protect-kernel-defaults", "protectKernelDefaults", "refuse to start where settings of the kernel differ from what nodes want"},
	{"cgroups-per-qos", "cgroupsPerQOS", "hold each pod to its limits in a cgroup of its own, below kubepods"},
	{"cgroup-root", "cgroupRoot", "`cgroup` below which kubepods lies (default: the top)"},
	{"cgroup-driver", "cgroupDriver", "who makes cgroups: `cgroupfs or systemd`, for the node's own runtime (default: as the machine has it) and where another does not say"},
	{"cpu-cfs-quota", "cpuCFSQuota", "hold containers to their CPU limits"},
	{"cpu-cfs-quota-period", "cpuCFSQuotaPeriod", "time within which a CPU limit holds, 1ms to 1s"},
	{"fail-swap-on", "failSwapOn", "refuse to start on a machine that swaps"},
	{"kube-reserved", "kubeReserved", "`amounts` that pods do not get, for the node's own programs: cpu=200m,memory=500Mi,ephemeral-storage=1Gi,pid=1000"},
	{"system-reserved", "systemReserved", "`amounts` that pods do not get, for the machine's other programs"},
	{"eviction-hard", "evictionHard", "`amounts` that have to be left, and that pods do not get: memory.available<100Mi,nodefs.available<10%"},
	{"eviction-pressure-transition-period", "evictionPressureTransitionPeriod", "how long a shortage of that has to be over before the node no longer tells it"},
	{"enforce-node-allocatable", "enforceNodeAllocatable", "`who` is held to what is theirs: pods together to what is left, system-reserved and kube-reserved to what is reserved, or with -compressible only to the CPUs of it; or none"},
	{"kube-reserved-cgroup", "kubeReservedCgroup", "`cgroup` of the node's own programs, for kube-reserved"},
	{"system-reserved-cgroup", "systemReservedCgroup", "`cgroup` of the machine's other programs, for system-reserved"},
	{"cpu-manager-policy", "cpuManagerPolicy", "`none, or static`: containers of guaranteed pods that ask for whole CPUs have them for their own"},
	{"cpu-manager-policy-options", "cpuManagerPolicyOptions", "`options` of static: full-pcpus-only=true, distribute-cpus-across-numa=true, distribute-cpus-across-cores=true, strict-cpu-reservation=true, prefer-align-cpus-by-uncorecache=true"},
	{"memory-manager-policy", "memoryManagerPolicy", "`None, or Static`: such containers have memory of chosen NUMA nodes; it needs reservedMemory in the --config file"},
	{"topology-manager-policy", "topologyManagerPolicy", "`policy` of having both of the same NUMA nodes: none, best-effort, restricted or single-numa-node"},
	{"topology-manager-policy-options", "topologyManagerPolicyOptions", "`options` of that: max-allowable-numa-nodes=16, prefer-closest-numa-nodes=true"},
	{"topology-manager-scope", "topologyManagerScope", "`scope` of that: container for each by itself, pod for all of them together"},
	{"reserved-cpus", "reservedSystemCPUs", "`CPUs` that no container has for its own, such as 0-1; they stand in place of reserved amounts of CPU"},
	{"pod-max-pids", "podPidsLimit", "`number` of processes that a pod may have; -1 for no bound"},
	{"local-storage-capacity-isolation", "localStorageCapacityIsolation", "end pods that write more to the disk than they may"},

	{"pod-manifest-path", "staticPodPath", "`path` of a directory of pod manifests, or of one manifest"},
	{"file-check-frequency", "fileCheckFrequency", "how often that path is read even if nothing notified a change"},
	{"manifest-url", "staticPodURL", "`URL` of pod manifests"},
	{"manifest-url-header", "staticPodURLHeader", "`headers` for that URL: 'name:value,name:value'; may be repeated"},
	{"http-check-frequency", "httpCheckFrequency", "how often that URL is read"},
	{"runonce", "runOnce", "start the pods of the file and URL sources, wait until they run, report and exit; nothing listens"},

	{"enable-server", "enableServer", "listen on --port"},
	{"address", "address", "`IP` to listen on"},
	{"port", "port", "TLS `port`, 1 to 65535; --enable-server=false turns it off"},
	{"read-only-port", "readOnlyPort", "plain read-only `port`, on loopback unless --address is given; 0 for none"},
	{"healthz-bind-address", "healthzBindAddress", "`IP` for --healthz-port"},
	{"healthz-port", "healthzPort", "plain `port` that answers /healthz only; 0 for none"},
	{"enable-debugging-handlers", "enableDebuggingHandlers", "serve logs, exec, attach, port-forward and run on the kubelet paths"},

	{"anonymous-auth", "authentication.anonymous.enabled", "let requests without credentials in, as system:anonymous"},
	{"authorization-mode", "authorization.mode", "`mode`: empty for the node's own roles, Webhook to ask the cluster about those who have none (default with --kubeconfig), or AlwaysAllow"},
	{"authentication-token-webhook", "authentication.webhook.enabled", "ask the cluster whose a token is that the node does not know (default true with --kubeconfig)"},
	{"authentication-token-webhook-cache-ttl", "authentication.webhook.cacheTTL", "how long the answers are remembered"},
	{"authorization-webhook-cache-authorized-ttl", "authorization.webhook.cacheAuthorizedTTL", "how long it is remembered that somebody may do something"},
	{"authorization-webhook-cache-unauthorized-ttl", "authorization.webhook.cacheUnauthorizedTTL", "how long it is remembered that somebody may not"},
	{"rotate-server-certificates", "serverTLSBootstrap", "have the cluster issue the serving certificate, and another before it runs out; until then the node's own is served"},
	{"client-ca-file", "authentication.x509.clientCAFile", "`file` of CAs whose client certificates are accepted"},
	{"tls-cert-file", "tlsCertFile", "serving certificate `file` (default: one made in --cert-dir)"},
	{"tls-private-key-file", "tlsPrivateKeyFile", "key `file` of --tls-cert-file"},

	{"container-log-max-size", "containerLogMaxSize", "`size` from which a container's log goes on in a new file, such as 10Mi; below 0 for no bound"},
	{"container-log-max-files", "containerLogMaxFiles", "`number` of files that are kept of a container's log, at least 2"},

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

// ignoredFlags stand in real command lines and are no field of the file. They
// are taken, have no effect, and Unhonoured names them.
var ignoredFlags = []string{
	"log-flush-frequency",
	"runtime-cgroups",
	"vmodule",
}

// A refusedFlag stops the start: going on without it would not be what was asked.
type refusedFlag struct{ name, why string }

// refuse is called with the flag's value; an empty one asks for nothing.
func (r refusedFlag) refuse(value string) error {
	if value == "" {
		return nil
	}
	return errors.New(r.why)
}

var refusedFlags = []refusedFlag{
	{"lock-file", "handing over by a lock file is not built yet"},
	{"reserved-memory", "set reservedMemory in the --config file"},
}

// honouredFlag says whether the flag has an effect.
func honouredFlag(name string) bool {
	if i := slices.IndexFunc(fieldFlags, func(f fieldFlag) bool { return f.name == name }); i >= 0 {
		return fieldFlags[i].usage != ""
	}
	return !slices.Contains(ignoredFlags, name) &&
		!slices.ContainsFunc(refusedFlags, func(r refusedFlag) bool { return r.name == name })
}
