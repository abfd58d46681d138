package config

// A gate is one of upstream's kubelet, and what it finds here.
type gate struct {
	name  string
	here  gateHere
	means string // what follows for a node that was told otherwise
}

// gateHere says what this node does, whatever it is told about a gate.
type gateHere int

const (
	always   gateHere = iota // what the gate stands for is there
	never                    // it is not there
	inside                   // the gate chooses between two ways inside of upstream's kubelet; callers see no difference
	grouped                  // it stands for many gates
	followed                 // the node follows the gate
)

// What a gate means that has no words of its own in the table.
var usualMeaning = map[gateHere]string{
	always: "this node always does it",
	inside: "it chooses between two ways inside of upstream's kubelet, and this node has its own",
}

// What rows below say several times.
const (
	noExtended  = "extended resources are not backed by resource claims here"
	noGroups    = "claims have to be reserved for the pod itself"
	notWindows  = "this kubelet runs on Linux"
	anyOption   = "the option itself decides, whether its gate is on or not"
	noCSI       = "CSI drivers stage and publish volumes here and are asked for nothing else"
	inClusterIn = "the clients of this node's cluster speak protobuf and JSON"
)

// Gates that other settings depend on.
const (
	disableQuota = "DisableCPUQuotaWithExclusiveCPUs"
	memoryQoS    = "MemoryQoS"
	qosReserved  = "QOSReserved"
)

// gates have a row for each gate that upstream's kubelet uses; a test compares them with gates.txt.
var gates = []gate{
	{"AllAlpha", never, "no gate follows it; name each gate"},
	{"AllBeta", grouped, "no gate follows it; name each gate"},
	{"AllowDNSOnlyNodeCSR", always, ""},
	{"AtomicFIFO", inside, ""},
	{"AtomicWriteVolumeUserFields", always, ""},
	{"CPUManagerPolicyAlphaOptions", always, anyOption},
	{"CPUManagerPolicyBetaOptions", always, anyOption},
	{"CRIListStreaming", never, "the runtime is asked for whole lists"},
	{"CSIVolumeHealth", never, noCSI},
	{"ChangeContainerStatusOnKubeletRestart", never, "containers stay ready while the agent restarts"},
	{"ClientsAllowCARotation", always, ""},
	{"ClientsAllowCBOR", never, inClusterIn},
	{"ClientsAllowTLSCacheGC", inside, ""},
	{"ClientsPreferCBOR", never, inClusterIn},
	{"ClusterTrustBundleProjection", always, ""},
	{"ComponentFlagz", always, ""},
	{"ComponentStatusz", always, ""},
	{"ContainerCheckpoint", never, "POST /checkpoint is not served"},
	{"ContainerRestartRules", always, ""},
	{"ContainerStopSignals", always, ""},
	{"ContextualLogging", inside, ""},
	{"CustomCPUCFSQuotaPeriod", always, "cpuCFSQuotaPeriod itself decides"},
	{"DRAExtendedResource", never, noExtended},
	{"DRANodeAllocatableResources", never, noExtended},
	{"DRAOptionalNodeOperations", never, "drivers are always asked to prepare and to unprepare"},
	{"DRAWorkloadResourceClaims", never, noGroups},
	{"DefaultPodSysctls", always, "defaultPodSysctls itself decides"},
	{disableQuota, followed, ""},
	{"DisableNodeKubeProxyVersion", always, ""},
	{"DynamicResourceAllocation", always, "resource claims of a cluster's pods are always prepared"},
	{"EmptyDirVolumeMode", always, ""},
	{"EnvFiles", always, ""},
	{"EventedPLEG", always, "the runtime's events are always heard, besides regular looks"},
	{"ExtendWebSocketsToKubelet", always, "exec, attach and port-forward are served over WebSockets too"},
	{"GRPCContainerProbeTLS", always, ""},
	{"GitRepoVolumeDriver", never, "pods with gitRepo volumes are refused"},
	{"GracefulNodeShutdown", followed, ""},
	{"GracefulNodeShutdownBasedOnPodPriority", followed, ""},
	{"H2CContainerProbe", always, ""},
	{"HostnameOverride", always, ""},
	{"HugepageAwareEviction", inside, ""},
	{"ImageMaximumGCAge", always, "imageMaximumGCAge itself decides"},
	{"ImageVolume", always, ""},
	{"ImageVolumeWithDigest", never, "the status of a pod does not tell the digests of its image volumes"},
	{"InOrderInformers", inside, ""},
	{"InOrderInformersBatchProcess", inside, ""},
	{"InPlacePodLevelResourcesVerticalScaling", always, ""},
	{"InPlacePodVerticalScaling", always, ""},
	{"InPlacePodVerticalScalingExclusiveCPUs", never, "containers with CPUs of their own keep their resources"},
	{"InPlacePodVerticalScalingExclusiveMemory", never, "containers with memory of chosen NUMA nodes keep their resources"},
	{"InPlacePodVerticalScalingInitContainers", never, "init containers that are not sidecars keep their resources"},
	{"InPlacePodVerticalScalingMemoryBackedVolumes", never, "volumes in memory keep their size"},
	{"InPlacePodVerticalScalingSchedulerPreemption", never, "a resize that does not fit waits, and preempts no pod"},
	{"InformerResourceVersion", inside, ""},
	{"KubeletAllocatedPodsEndpoint", never, "GET /v1/pods shows the resources that pods have"},
	{"KubeletCrashLoopBackOffMax", always, "crashLoopBackOff.maxContainerRestartPeriod itself decides"},
	{"KubeletEnsureSecretPulledImages", always, "imagePullCredentialsVerificationPolicy decides"},
	{"KubeletFineGrainedAuthz", always, ""},
	{"KubeletInUserNamespace", never, "an agent that is not root of the machine does not start"},
	{"KubeletPSI", always, ""},
	{"KubeletPodResourcesGet", always, ""},
	{"KubeletPodResourcesListUseActivePods", always, ""},
	{"KubeletRegistrationGetOnExistsOnly", inside, ""},
	{"KubeletSeparateDiskGC", never, "writable layers on a disk of their own have no thresholds of eviction"},
	{"KubeletServiceAccountTokenForCredentialProviders", always, ""},
	{"LocalStorageCapacityIsolationFSQuotaMonitoring", never, "the files of pods are counted, without quotas of the file system"},
	{"LoggingAlphaOptions", always, anyOption},
	{"LoggingBetaOptions", always, anyOption},
	{memoryQoS, followed, ""},
	{"MutableCSINodeAllocatableCount", never, noCSI},
	{"NativeHistograms", never, "histograms have fixed buckets"},
	{"NodeDeclaredFeatures", always, ""},
	{"NodeLogQuery", always, ""},
	{"NodeSwap", always, "memorySwap.swapBehavior itself decides"},
	{"PLEGOnDemandRelist", inside, ""},
	{"PodAndContainerStatsFromCRI", never, "the usage of pods is read from the kernel"},
	{"PodCertificateRequest", never, "pods with podCertificate volumes are refused"},
	{"PodLevelResourceManagers", never, "CPUs and memory of their own are given to containers, not to whole pods"},
	{"PodLevelResources", always, ""},
	{"PodLevelResourcesFixKubeletQOSClass", inside, ""},
	{"PodLifecycleSleepAction", always, ""},
	{"PodLogsQuerySplitStreams", always, ""},
	{"PodObservedGenerationTracking", always, ""},
	{"PodReadyToStartContainersCondition", always, ""},
	{"PodsAPI", always, ""},
	{"PreventStaticPodAPIReferences", always, ""},
	{qosReserved, followed, ""},
	{"RecoverVolumeExpansionFailure", never, noCSI},
	{"RecursiveReadOnlyMounts", always, ""},
	{"ReduceDefaultCrashLoopBackOffDecay", never, "the first wait before a restart is 10s; crashLoopBackOff.maxContainerRestartPeriod sets the longest"},
	{"ReloadKubeletClientCAFile", always, ""},
	{"ReloadKubeletServerCertificateFile", always, ""},
	{"ResourceHealthStatus", always, ""},
	{"ResourceHealthStatusMessage", never, "device plugins say no more than whether a device is healthy"},
	{"RestartAllContainersOnContainerExits", always, ""},
	{"RotateKubeletServerCertificate", always, "serverTLSBootstrap itself decides"},
	{"RuntimeClassInImageCriApi", never, "an image is pulled for all runtime classes alike"},
	{"SELinuxChangePolicy", never, "the node sets no SELinux labels on volumes"},
	{"SELinuxMount", never, "the node sets no SELinux labels on volumes"},
	{"SELinuxMountReadWriteOncePod", never, "the node sets no SELinux labels on volumes"},
	{"SupplementalGroupsPolicy", always, ""},
	{"TaintTolerationComparisonOperators", always, ""},
	{"TopologyManagerPolicyAlphaOptions", always, anyOption},
	{"TopologyManagerPolicyBetaOptions", always, anyOption},
	{"TopologyManagerPolicyOptions", always, anyOption},
	{"UnlockWhileProcessingFIFO", inside, ""},
	{"UserNamespacesSupport", always, ""},
	{"WatchListClient", inside, ""},
	{"WindowsCPUAndMemoryAffinity", never, notWindows},
	{"WindowsGracefulNodeShutdown", never, notWindows},
}
