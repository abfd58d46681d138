package config

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	kubelet "k8s.io/kubelet/config/v1beta1"
)

func TestEveryFieldIsHonouredOrListed(t *testing.T) {
	var k kubelet.KubeletConfiguration
	rows := map[string]int{}
	for s := range honoured() {
		rows[s.field]++
	}
	for _, s := range idle {
		rows[s.field]++
	}
	delete(rows, "") // flags that are no field
	for path := range fields(&k) {
		if rows[path] != 1 {
			t.Errorf("%s has %d rows in sections and idle, want one", path, rows[path])
		}
		delete(rows, path)
	}
	for path := range rows {
		t.Errorf("%s has a row and is no field", path)
	}
	if got := reflect.TypeFor[kubelet.KubeletConfiguration]().NumField() - 1; got != 126 {
		t.Errorf("the type has %d fields besides its kind, want 126: look through the new ones", got)
	}
}

func TestUnhonouredNamesWhatIsSet(t *testing.T) {
	file := write(t, t.TempDir(), "kubelet.yaml", `
maxPods: 5
failSwapOn: true
clusterDNS: [10.0.0.10]
authorization: {mode: Webhook}
authentication: {webhook: {enabled: true}}
tracing: {samplingRatePerMillion: 1}
hairpinMode: none
`)
	got := Unhonoured(load(t, "--config", file, "--boot-id-file=/x", "--qos-reserved=memory=50%"))
	want := []Unmet{
		{"--boot-id-file", noCadvisor},
		{"authentication.webhook.enabled", "without --kubeconfig the node's own tokens count alone"},
		{"authorization.mode=Webhook", "without --kubeconfig the node's own roles decide"},
		{"hairpinMode", idleMeans(t, "hairpinMode")},
		{"qosReserved", "without the feature gate QOSReserved pods of every class may use all the memory that there is for pods"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("Unhonoured:\n got %q\nwant %q", got, want)
	}
}

// idleMeans returns what the table says of a setting without effect.
func idleMeans(t *testing.T, field string) string {
	t.Helper()
	at := slices.IndexFunc(idle, func(s idleSetting) bool { return s.field == field })
	if at < 0 {
		t.Fatalf("%s is not in the table", field)
	}
	return idle[at].means
}

// examples are files that give a field another value than its default.
var examples = map[string]string{
	"address":                                    "address: 192.0.2.1",
	"authentication.anonymous.enabled":           "authentication: {anonymous: {enabled: true}}",
	"authentication.webhook.cacheTTL":            "authentication: {webhook: {cacheTTL: 1m}}",
	"authentication.webhook.enabled":             "authentication: {webhook: {enabled: true}}",
	"authorization.webhook.cacheAuthorizedTTL":   "authorization: {webhook: {cacheAuthorizedTTL: 1m}}",
	"authorization.webhook.cacheUnauthorizedTTL": "authorization: {webhook: {cacheUnauthorizedTTL: 1m}}",
	"serverTLSBootstrap":                         "serverTLSBootstrap: true",
	"authentication.x509.clientCAFile":           "authentication: {x509: {clientCAFile: /ca}}",
	"authorization.mode":                         "authorization: {mode: AlwaysAllow}",
	"defaultPodSysctls":                          "defaultPodSysctls: {net.core.somaxconn: '1'}",
	"allowedUnsafeSysctls":                       "allowedUnsafeSysctls: ['net.*']",
	"cgroupDriver":                               "cgroupDriver: systemd",
	"cgroupsPerQOS":                              "cgroupsPerQOS: false",
	"podCIDR":                                    "podCIDR: 10.1.0.0/16",
	"cpuCFSQuota":                                "cpuCFSQuota: false",
	"cpuCFSQuotaPeriod":                          "cpuCFSQuotaPeriod: 10ms",
	"cpuManagerPolicy":                           "cpuManagerPolicy: static",
	"cpuManagerPolicyOptions":                    "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}",
	"reservedSystemCPUs":                         "reservedSystemCPUs: 0-1",
	"memoryManagerPolicy":                        "memoryManagerPolicy: Static",
	"reservedMemory":                             "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
	"topologyManagerPolicy":                      "topologyManagerPolicy: restricted",
	"topologyManagerPolicyOptions":               "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '9'}",
	"tracing":                                    "tracing: {endpoint: 'collector:4317', samplingRatePerMillion: 5}",
	"topologyManagerScope":                       "topologyManagerScope: pod",
	"failCgroupV1":                               "failCgroupV1: true",
	"failSwapOn":                                 "failSwapOn: false",
	"memorySwap.swapBehavior":                    "memorySwap: {swapBehavior: LimitedSwap}",
	"kubeReservedCgroup":                         "enforceNodeAllocatable: [kube-reserved]\nkubeReservedCgroup: /kube",
	"systemReservedCgroup":                       "enforceNodeAllocatable: [system-reserved-compressible]\nsystemReservedCgroup: /system",
	"enforceNodeAllocatable":                     "enforceNodeAllocatable: []",
	"evictionHard":                               "evictionHard: {memory.available: 5%}",
	"evictionPressureTransitionPeriod":           "evictionPressureTransitionPeriod: 1m",
	"evictionSoft":                               "evictionSoft: {memory.available: 5%}\nevictionSoftGracePeriod: {memory.available: 1m}",
	"evictionSoftGracePeriod":                    "evictionSoft: {memory.available: 5%}\nevictionSoftGracePeriod: {memory.available: 2m}",
	"evictionMinimumReclaim":                     "evictionMinimumReclaim: {memory.available: 1Gi}",
	"evictionMaxPodGracePeriod":                  "evictionMaxPodGracePeriod: 7",
	"mergeDefaultEvictionSettings":               "mergeDefaultEvictionSettings: true\nevictionHard: {pid.available: 1k}",
	"kubeReserved":                               "kubeReserved: {cpu: 100m}",
	"podPidsLimit":                               "podPidsLimit: -1",
	"protectKernelDefaults":                      "protectKernelDefaults: true",
	"localStorageCapacityIsolation":              "localStorageCapacityIsolation: false",
	"systemReserved":                             "systemReserved: {memory: 1Gi}",
	"logging.vmodule":                            "logging: {vmodule: [{filePattern: loop, verbosity: 4}]}",
	"logging.options.text.splitStream":           "logging: {options: {text: {splitStream: true}}}",
	"logging.options.json.splitStream":           "logging: {format: json, options: {json: {splitStream: true}}}",
	"kubeletCgroups":                             "kubeletCgroups: /podruntime/kubelet",
	"systemCgroups":                              "cgroupRoot: /\nsystemCgroups: /system",
	"qosReserved":                                "featureGates: {QOSReserved: true}\nqosReserved: {memory: 50%}",
	"memoryReservationPolicy":                    "memoryReservationPolicy: TieredReservation",
	"memoryThrottlingFactor":                     "memoryThrottlingFactor: 0.8",
	"singleProcessOOMKill":                       "singleProcessOOMKill: false",
	"cgroupRoot":                                 "cgroupRoot: /pods",
	"clusterDNS":                                 "clusterDNS: [192.0.2.1]",
	"clusterDomain":                              "clusterDomain: cluster.test",
	"containerLogMaxFiles":                       "containerLogMaxFiles: 3",
	"containerLogMaxSize":                        "containerLogMaxSize: 1Mi",
	"containerLogMaxWorkers":                     "containerLogMaxWorkers: 3",
	"containerLogMonitorInterval":                "containerLogMonitorInterval: 3s",
	"containerRuntimeEndpoint":                   "containerRuntimeEndpoint: unix:///x",
	"crashLoopBackOff.maxContainerRestartPeriod": "crashLoopBackOff: {maxContainerRestartPeriod: 1s}",
	"enableDebuggingHandlers":                    "enableDebuggingHandlers: false",
	"streamingConnectionIdleTimeout":             "streamingConnectionIdleTimeout: 1m",
	"enableDebugFlagsHandler":                    "enableDebugFlagsHandler: false",
	"enableProfilingHandler":                     "enableProfilingHandler: false",
	"enableSystemLogHandler":                     "enableSystemLogHandler: false",
	"enableSystemLogQuery":                       "enableSystemLogQuery: true",
	"enableServer":                               "enableServer: false",
	"fileCheckFrequency":                         "fileCheckFrequency: 1s",
	"healthzBindAddress":                         "healthzBindAddress: '::'",
	"healthzPort":                                "healthzPort: 0",
	"httpCheckFrequency":                         "httpCheckFrequency: 1s",
	"imageGCHighThresholdPercent":                "imageGCHighThresholdPercent: 90",
	"imageGCLowThresholdPercent":                 "imageGCLowThresholdPercent: 70",
	"imageMaximumGCAge":                          "imageMaximumGCAge: 48h",
	"imageMinimumGCAge":                          "imageMinimumGCAge: 3m",
	"imagePullCredentialsVerificationPolicy":     "imagePullCredentialsVerificationPolicy: AlwaysVerify",
	"preloadedImagesVerificationAllowlist":       "preloadedImagesVerificationAllowlist: [registry.example/base/*]",
	"imageServiceEndpoint":                       "imageServiceEndpoint: unix:///x",
	"eventBurst":                                 "eventBurst: 3",
	"eventRecordQPS":                             "eventRecordQPS: 3",
	"kubeAPIBurst":                               "kubeAPIBurst: 3",
	"kubeAPIQPS":                                 "kubeAPIQPS: 3",
	"nodeLeaseDurationSeconds":                   "nodeLeaseDurationSeconds: 20",
	"nodeStatusMaxImages":                        "nodeStatusMaxImages: 3",
	"nodeStatusReportFrequency":                  "nodeStatusReportFrequency: 1m",
	"nodeStatusUpdateFrequency":                  "nodeStatusUpdateFrequency: 5s",
	"providerID":                                 "providerID: cloud://7",
	"registerNode":                               "registerNode: false",
	"registerWithTaints":                         "registerWithTaints: [{key: a, effect: NoSchedule}]",
	"logging.format":                             "logging: {format: json}",
	"logging.verbosity":                          "logging: {verbosity: 3}",
	"maxParallelImagePulls":                      "maxParallelImagePulls: 3\nserializeImagePulls: false",
	"maxPods":                                    "maxPods: 1",
	"podLogsDir":                                 "podLogsDir: /x",
	"port":                                       "port: 1",
	"readOnlyPort":                               "readOnlyPort: 1",
	"registryBurst":                              "registryBurst: 3",
	"registryPullQPS":                            "registryPullQPS: 3",
	"resolvConf":                                 "resolvConf: /x",
	"rotateCertificates":                         "rotateCertificates: true",
	"runOnce":                                    "runOnce: true",
	"runtimeRequestTimeout":                      "runtimeRequestTimeout: 1s",
	"seccompDefault":                             "seccompDefault: false",
	"shutdownGracePeriod":                        "shutdownGracePeriod: 30s",
	"shutdownGracePeriodByPodPriority":           "shutdownGracePeriodByPodPriority: [{priority: 5, shutdownGracePeriodSeconds: 3}]",
	"shutdownGracePeriodCriticalPods":            "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s",
	"serializeImagePulls":                        "serializeImagePulls: false",
	"staticPodPath":                              "staticPodPath: /x",
	"staticPodURL":                               "staticPodURL: http://x",
	"staticPodURLHeader":                         "staticPodURLHeader: {A: [b]}",
	"tlsCertFile":                                "tlsCertFile: /x\ntlsPrivateKeyFile: /y",
	"tlsMinVersion":                              "tlsMinVersion: VersionTLS13",
	"tlsCipherSuites":                            "tlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]",
	"tlsCurvePreferences":                        "tlsCurvePreferences: [29]",
	"tlsPrivateKeyFile":                          "tlsPrivateKeyFile: /y\ntlsCertFile: /x",
	"enableContentionProfiling":                  "enableContentionProfiling: true",
	"maxOpenFiles":                               "maxOpenFiles: 1000",
	"oomScoreAdj":                                "oomScoreAdj: -5",
	"podsPerCore":                                "podsPerCore: 3",
	"userNamespaces":                             "userNamespaces: {idsPerPod: 131072}",
}

// A field with an effect changes Config, whichever way it is set.
func TestEveryHonouredFieldDoesSomething(t *testing.T) {
	plain := load(t)
	for s := range honoured() {
		path := s.field
		if path == "" || path == "featureGates" { // TestGatesSayWhatIsInForce
			continue
		}
		example, ok := examples[path]
		if !ok {
			t.Errorf("%s has no example here", path)
			continue
		}
		c := load(t, "--config", write(t, t.TempDir(), "kubelet.yaml", example+"\n"))
		if visible(c) == visible(plain) {
			t.Errorf("%q changes nothing in Config", example)
		}
	}
}

// visible prints the part of c that other packages can read.
func visible(c *Config) string {
	data, err := json.Marshal(c) // the unexported fields stay out
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func TestEveryFlagDoesSomething(t *testing.T) {
	values := map[string]string{
		"string":      "/x",
		"int32":       "3",
		"int64":       "3",
		"uint32":      "3",
		"duration":    "7s",
		"stringSlice": "192.0.2.1,192.0.2.2",
		"func":        "a=b",
		"quantity":    "1Ki",
	}
	special := map[string]string{
		"cpu-manager-policy": "static", "cpu-manager-policy-options": "full-pcpus-only=true", "reserved-cpus": "0-1",
		"memory-manager-policy": "Static", "topology-manager-policy": "restricted", "topology-manager-scope": "pod", "topology-manager-policy-options": "max-allowable-numa-nodes=9",
		"image-gc-high-threshold": "90",
		"address":                 "192.0.2.1", "cgroup-driver": "systemd", "pod-cidr": "10.1.0.0/16", "enforce-node-allocatable": "none", "kube-reserved": "cpu=1", "system-reserved": "cpu=1", "cpu-cfs-quota-period": "7ms", "healthz-bind-address": "::", "authorization-mode": "AlwaysAllow",
		"container-runtime-endpoint": "unix:///x", "image-service-endpoint": "unix:///x",
		"manifest-url": "http://x", "manifest-url-header": "a:b", "eviction-hard": "memory.available<7%", "eviction-soft": "pid.available<7%", "eviction-soft-grace-period": "pid.available=1m", "eviction-minimum-reclaim": "memory.available=1Gi",
		"allowed-unsafe-sysctls": "net.*,kernel.msgmax", "container-log-max-size": "1Mi", "feature-gates": "NodeSwap=true", "reserved-memory": "0:memory=1Gi", "logging-format": "json", "vmodule": "loop=4", "hairpin-mode": "none", "qos-reserved": "memory=50%",
		"tls-min-version": "VersionTLS13", "tls-cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	}
	together := map[string]string{"qos-reserved": "--feature-gates=QOSReserved=true", "system-cgroups": "--cgroup-root=/", "log-json-split-stream": "--logging-format=json", "tls-cert-file": "--tls-private-key-file=/y", "tls-private-key-file": "--tls-cert-file=/y", "cpu-manager-policy-options": "--cpu-manager-policy=static",
		"eviction-soft": "--eviction-soft-grace-period=pid.available=1m", "eviction-soft-grace-period": "--eviction-soft=pid.available<7%"}
	plain := load(t)
	for _, f := range fieldSettings() {
		if f.flag == "" {
			continue
		}
		fs, err := parse(&Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		flag := fs.Lookup(f.flag)
		value := values[flag.Value.Type()]
		if flag.Value.Type() == "bool" {
			value = map[string]string{"true": "false", "false": "true"}[flag.DefValue]
		}
		if s, ok := special[f.flag]; ok {
			value = s
		}
		args := []string{"--" + f.flag + "=" + value}
		if other, ok := together[f.flag]; ok {
			args = append(args, other)
		}
		c := load(t, args...)
		if f.usage != "" && visible(c) == visible(plain) && f.flag != "feature-gates" {
			t.Errorf("%s changes nothing in Config", args)
		}
		without := slices.ContainsFunc(idle, func(s idleSetting) bool { return s.field == f.field })
		if without && !slices.ContainsFunc(Unhonoured(c), func(u Unmet) bool { return u.Setting == f.field && u.Means != "" }) {
			t.Errorf("%s is not named by Unhonoured", args)
		}
		if (f.usage == "") != without {
			t.Errorf("--%s has a usage text or its field %s has an effect, want both or neither", f.flag, f.field)
		}
	}
}

func TestEveryOtherFlagDoesSomething(t *testing.T) {
	plain := load(t)
	for _, arg := range []string{
		"--root-dir=/x", "--cert-dir=/x", "--socket=/x", "--nodes-file=/x", "--hostname-override=x", "--node-ip=192.0.2.1", "--lock-file=/x", "--runtime-cgroups=/x",
	} {
		if visible(load(t, arg)) == visible(plain) {
			t.Errorf("%s changes nothing in Config", arg)
		}
	}
	for _, f := range ignoredFlags {
		if got := Unhonoured(load(t, "--"+f.name+"=x")); !slices.Equal(got, []Unmet{{"--" + f.name, f.means}}) {
			t.Errorf("Unhonoured with --%s = %q", f.name, got)
		}
	}
}

func TestEveryFlagOfUpstreamIsKnown(t *testing.T) {
	list, err := os.ReadFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	fs, err := parse(&Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	for _, name := range names {
		if fs.Lookup(name) == nil {
			t.Errorf("--%s stops the start as an unknown flag", name)
		}
	}
	if len(names) < 140 {
		t.Errorf("the list has %d flags, want all of them", len(names))
	}
}

func TestFlagsWithoutEffectStandAloneWhereUpstreamsDo(t *testing.T) {
	for _, f := range ignoredFlags {
		_, err := Load([]string{"--" + f.name})
		if alone := err == nil; alone != (f.form == toggled) {
			t.Errorf("--%s without a value: %v", f.name, err)
		}
	}
}

func TestMemoryIsReservedByNUMANode(t *testing.T) {
	got := load(t, "--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi", "--reserved-memory=2:memory=1Mi").given.options.Kubelet.ReservedMemory
	data, err := json.Marshal(got)
	want := `[{"numaNode":0,"limits":{"hugepages-1Gi":"2Gi","memory":"1Gi"}},{"numaNode":1,"limits":{"memory":"2Gi"}},{"numaNode":2,"limits":{"memory":"1Mi"}}]`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	file := write(t, t.TempDir(), "kubelet.yaml", "reservedMemory: [{numaNode: 3, limits: {memory: 1Gi}}]\n")
	if got := load(t, "--config", file, "--reserved-memory=").given.options.Kubelet.ReservedMemory; len(got) != 1 || got[0].NumaNode != 3 {
		t.Errorf("an empty flag makes %v of the file's value", got)
	}
	for _, wrong := range []string{" ", ";", "memory=1Gi", "0:memory", "0:memory=much", "x:memory=1Gi"} {
		if _, err := Load([]string{"--reserved-memory=" + wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestDifferencesHold(t *testing.T) {
	var k kubelet.KubeletConfiguration
	for _, d := range differences {
		if _, found := fieldSettings()[d.field]; !found || fieldPointer(&k, d.field) == nil {
			t.Errorf("%s is listed as a difference and is no field", d.field)
		}
	}
}
