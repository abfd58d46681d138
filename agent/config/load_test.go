package config

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

// write makes a configuration file of the given fields and returns its name.
func write(t *testing.T, dir, name, fields string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(header+fields), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, args ...string) *Config {
	t.Helper()
	c, err := Load(args)
	if err != nil {
		t.Fatalf("Load(%q): %v", args, err)
	}
	return c
}

func TestPrecedence(t *testing.T) {
	for _, tc := range []struct {
		name, file, dropIn string
		flags              []string
		want               int
	}{
		{name: "a default stands when nothing is set", want: 110},
		{name: "the file beats the default", file: "maxPods: 10", want: 10},
		{name: "a drop-in beats the file", file: "maxPods: 10", dropIn: "maxPods: 20", want: 20},
		{name: "a flag beats a drop-in", file: "maxPods: 10", dropIn: "maxPods: 20", flags: []string{"--max-pods=30"}, want: 30},
		{name: "a flag that repeats the default beats the file", file: "maxPods: 10", flags: []string{"--max-pods=110"}, want: 110},
		{name: "a flag may say zero", file: "maxPods: 10", flags: []string{"--max-pods=0"}, want: 0},
		{name: "a zero in the file is not set", file: "maxPods: 0", want: 110},
		{name: "an underscore in a flag is a dash", flags: []string{"--max_pods", "7"}, want: 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "10.conf", tc.dropIn+"\n")
			args := append(tc.flags, "--config", write(t, dir, "kubelet.yaml", tc.file+"\n"), "--config-dir", dir)
			if got := load(t, args...).Pods.Max; got != tc.want {
				t.Errorf("MaxPods = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestDropInsMerge(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "kubelet.yaml", `
maxPods: 1
evictionHard: {memory.available: 1Mi, nodefs.available: 5%}
clusterDNS: [10.0.0.1, 10.0.0.2]
reservedMemory: [{numaNode: 3, limits: {memory: 1Gi}}]
`)
	write(t, dir, "20.conf", "maxPods: 20\nreservedMemory: [{limits: {memory: 2Gi}}]\n")
	write(t, dir, "10.conf", "maxPods: 10\nevictionHard: {memory.available: 2Mi}\nclusterDNS: [10.0.0.3]\n")
	write(t, dir, "30.yaml", "maxPods: 30\n")

	c := load(t, "--config", file, "--config-dir", dir)
	if c.Pods.Max != 20 {
		t.Errorf("maxPods = %d, want 20: the last .conf by name decides", c.Pods.Max)
	}
	if got := c.given.options.Kubelet.EvictionHard; got["memory.available"] != "2Mi" || got["nodefs.available"] != "5%" {
		t.Errorf("evictionHard = %v, want both files' entries, the drop-in's first", got)
	}
	if got := c.given.options.Kubelet.ClusterDNS; !slices.Equal(got, []string{"10.0.0.3"}) {
		t.Errorf("clusterDNS = %v, want the drop-in's list alone", got)
	}
	if got := c.given.options.Kubelet.ReservedMemory; len(got) != 1 || got[0].NumaNode != 0 {
		t.Errorf("reservedMemory = %v, want nothing left of the file's element", got)
	}
}

func TestAWrongDropInIsNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "10.conf", "maxPods: 10\n")
	write(t, dir, "20.conf", "warp: 9\n")
	_, err := Load([]string{"--config-dir", dir})
	if err == nil || !strings.Contains(err.Error(), "20.conf") || !strings.Contains(err.Error(), `"warp"`) {
		t.Errorf("Load = %v, want an error that names 20.conf and warp", err)
	}
}

func TestFlagsOverCollections(t *testing.T) {
	file := write(t, t.TempDir(), "kubelet.yaml", `
clusterDNS: [10.0.0.1]
evictionHard: {nodefs.available: 5%}
featureGates: {EnvFiles: true, EventedPLEG: true}
staticPodURLHeader: {A: [file]}
`)
	k := load(t, "--config", file, "--cluster-dns=1.1.1.1,2.2.2.2", "--eviction-hard=memory.available<1Mi",
		"--feature-gates=EnvFiles=false", "--manifest-url-header=B:1,B:2", "--manifest-url-header=C:3").given.options.Kubelet
	if got := strings.Join(k.ClusterDNS, " "); got != "1.1.1.1 2.2.2.2" {
		t.Errorf("clusterDNS = %s, want the flag's list alone", got)
	}
	if len(k.EvictionHard) != 1 || k.EvictionHard["memory.available"] != "1Mi" {
		t.Errorf("evictionHard = %v, want the flag's map alone", k.EvictionHard)
	}
	if k.FeatureGates["EnvFiles"] || !k.FeatureGates["EventedPLEG"] {
		t.Errorf("featureGates = %v, want EnvFiles off and EventedPLEG as in the file", k.FeatureGates)
	}
	if h := k.StaticPodURLHeader; len(h) != 2 || len(h["B"]) != 2 || len(h["C"]) != 1 {
		t.Errorf("staticPodURLHeader = %v, want B twice and C once", h)
	}
}

func TestDefaultsAreSafe(t *testing.T) {
	c := load(t)
	if c.Auth.Anonymous || c.Auth.Mode != AuthRoles || c.Listen.ReadOnlyPort != 0 {
		t.Errorf("without a file: anonymous %v, mode %q, read-only port %d; want false, the roles, 0",
			c.Auth.Anonymous, c.Auth.Mode, c.Listen.ReadOnlyPort)
	}
	if got := Unhonoured(c); len(got) != 0 {
		t.Errorf("Unhonoured = %v, want none when nothing is set", got)
	}
}

func TestAMemberAsksItsCluster(t *testing.T) {
	file := write(t, t.TempDir(), "kubelet.yaml", "authorization: {mode: AlwaysAllow}\n")
	for _, tc := range []struct {
		name   string
		args   []string
		tokens bool
		mode   AuthMode
	}{
		{"alone", nil, false, AuthRoles},
		{"a member", []string{"--kubeconfig=/k"}, true, AuthWebhook},
		{"a member whose file says otherwise", []string{"--kubeconfig=/k", "--config=" + file}, true, AuthAlwaysAllow},
		{"a member that is told otherwise", []string{"--kubeconfig=/k", "--authentication-token-webhook=false", "--authorization-mode="}, false, AuthRoles},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := load(t, tc.args...)
			if c.Auth.Tokens != tc.tokens || c.Auth.Mode != tc.mode {
				t.Errorf("got %t and %q, want %t and %q", c.Auth.Tokens, c.Auth.Mode, tc.tokens, tc.mode)
			}
			if got := Unhonoured(c); len(got) != 0 {
				t.Errorf("Unhonoured = %v, want none", got)
			}
		})
	}
}

func TestOnlyAFileThatLetsAnybodyInHasOtherTokensMeanNothing(t *testing.T) {
	open := write(t, t.TempDir(), "kubelet.yaml", "authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}\n")
	closed := write(t, t.TempDir(), "kubelet.yaml", "authentication: {anonymous: {enabled: false}}\n")
	for _, tc := range []struct {
		name string
		args []string
		want bool
	}{
		{"by default", nil, false},
		{"by the file", []string{"--config=" + open}, true},
		{"by the file of a member without webhook", []string{"--kubeconfig=/k", "--config=" + open}, true},
		{"a member asks its cluster", []string{"--kubeconfig=/k", "--config=" + open, "--authentication-token-webhook=true"}, false},
		{"by a flag alone", []string{"--anonymous-auth=true"}, false},
		{"by a flag over the file", []string{"--config=" + closed, "--anonymous-auth=true"}, false},
		{"not by the flag", []string{"--config=" + open, "--anonymous-auth=false"}, false},
	} {
		if got := load(t, tc.args...).Auth.OtherTokens; got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestListen(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want Listen
	}{
		{"all defaults", nil,
			Listen{DefaultSocket, "0.0.0.0", 10250, "127.0.0.1", 0, "127.0.0.1", 10248, true, true, true, true, false, 4 * time.Hour, ""}},
		{"the read-only port stays on loopback", []string{"--read-only-port=10255"},
			Listen{DefaultSocket, "0.0.0.0", 10250, "127.0.0.1", 10255, "127.0.0.1", 10248, true, true, true, true, false, 4 * time.Hour, ""}},
		{"the read-only port follows an address that is given, even the default one", []string{"--read-only-port=10255", "--address=0.0.0.0"},
			Listen{DefaultSocket, "0.0.0.0", 10250, "0.0.0.0", 10255, "127.0.0.1", 10248, true, true, true, true, false, 4 * time.Hour, ""}},
		{"no server, no health, no socket", []string{"--enable-server=false", "--healthz-port=0", "--socket="},
			Listen{"", "0.0.0.0", 0, "127.0.0.1", 0, "127.0.0.1", 0, true, true, true, true, false, 4 * time.Hour, ""}},
		{"a single run listens nowhere", []string{"--runonce", "--read-only-port=10255"}, Listen{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := load(t, tc.args...).Listen; got != tc.want {
				t.Errorf("Listen = %+v, want %+v", got, tc.want)
			}
		})
	}

	file := write(t, t.TempDir(), "kubelet.yaml", "address: 192.0.2.1\nreadOnlyPort: 10255\n")
	if got := load(t, "--config", file).Listen.ReadOnlyAddress; got != "192.0.2.1" {
		t.Errorf("read-only address with an address in the file = %s, want 192.0.2.1", got)
	}
}

func TestNode(t *testing.T) {
	if got := load(t, "--hostname-override=Web-1").Node.Name; got != "web-1" {
		t.Errorf("Node.Name = %q, want the override in lower case", got)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t).Node.Name; got != strings.ToLower(host) {
		t.Errorf("Node.Name = %q, want the host's name %q in lower case", got, host)
	}
	want := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
	if got := load(t, "--node-ip=192.0.2.1,2001:db8::1").Node.IPs; !slices.Equal(got, want) {
		t.Errorf("Node.IPs = %v, want %v", got, want)
	}
	c := load(t, "--root-dir=/srv/node")
	if c.Dirs.Root != "/srv/node" || c.Dirs.Cert != "/srv/node/pki" {
		t.Errorf("Dirs = %+v, want the certificates under the root", c.Dirs)
	}
}

func TestRelativePathsStartAtTheFile(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "kubelet.yaml", "staticPodPath: pods\nauthentication: {x509: {clientCAFile: ca.crt}}\n")
	c := load(t, "--config", file)
	if got, want := c.Sources.StaticPodPath, filepath.Join(dir, "pods"); got != want {
		t.Errorf("StaticPodPath = %s, want %s", got, want)
	}
	if got, want := c.Auth.ClientCAFile, filepath.Join(dir, "ca.crt"); got != want {
		t.Errorf("ClientCAFile = %s, want %s", got, want)
	}
}

func TestResolvedValues(t *testing.T) {
	file := write(t, t.TempDir(), "kubelet.json", "crashLoopBackOff: {maxContainerRestartPeriod: 30s}\n"+
		"authorization: {mode: AlwaysAllow}\nauthentication: {anonymous: {enabled: true}}\nlogging: {format: json}\n")
	c := load(t, "--config", file, "-v4", "--container-runtime-endpoint=unix:///run/x.sock")
	if c.Pods.CrashLoopMax != 30*time.Second {
		t.Errorf("Pods.CrashLoopMax = %v, want 30s", c.Pods.CrashLoopMax)
	}
	if c.Auth.Mode != AuthAlwaysAllow || !c.Auth.Anonymous {
		t.Errorf("Auth = %+v, want what the file asks for", c.Auth)
	}
	if !reflect.DeepEqual(c.Process, Process{LogFormat: "json", Verbosity: 4, OOMScore: -999, OpenFiles: 1_000_000}) {
		t.Errorf("Process = %+v, want json at 4", c.Process)
	}
	if c.Runtime.ImageEndpoint != "unix:///run/x.sock" {
		t.Errorf("ImageEndpoint = %s, want the runtime's", c.Runtime.ImageEndpoint)
	}
}

func TestPortsThatPodsDoNotReach(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []uint16
	}{
		{nil, nil},
		{[]string{"--pods-reach-kubelet=false"}, []uint16{10250}},
		{[]string{"--pods-reach-kubelet=false", "--port=1250", "--read-only-port=1255"}, []uint16{1250, 1255}},
		{[]string{"--pods-reach-kubelet=false", "--enable-server=false"}, nil},
	} {
		if got := load(t, c.args...).Runtime.Closed; !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.args, got, c.want)
		}
	}
}

func TestAddressesOfServices(t *testing.T) {
	if got := load(t).Runtime; got.ServiceCIDR.IsValid() || got.NoServices {
		t.Errorf("by default: %+v, want an unused subnet", got)
	}
	if got := load(t, "--service-cidr=none").Runtime; !got.NoServices {
		t.Errorf("none: %+v, want no services", got)
	}
	if got := load(t, "--service-cidr=10.96.0.1/16").Runtime.ServiceCIDR.String(); got != "10.96.0.0/16" {
		t.Errorf("got %s", got)
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		args       []string
		want       []string // parts of the message
		not        string   // no part of it
	}{
		{name: "an unknown field", file: header + "maxpods: 1\n", want: []string{"kubelet.yaml", `unknown field "maxpods"`}},
		{name: "an unknown nested field", file: header + "authentication: {x509: {ca: a}}\n", want: []string{"kubelet.yaml", `"authentication.x509.ca"`}},
		{name: "a duplicate key", file: header + "port: 1\nport: 2\n", want: []string{"kubelet.yaml", `"port" already set`}},
		{name: "a wrong type", file: header + "maxPods: many\n", want: []string{"kubelet.yaml", "maxPods"}},
		{name: "another version", file: "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n", want: []string{"kubelet.yaml", "want apiVersion kubelet.config.k8s.io/v1beta1", `"kubelet.config.k8s.io/v1"`}},
		{name: "another kind", file: "apiVersion: v1\nkind: Pod\n", want: []string{`kind "Pod"`}},
		{name: "no kind", file: "maxPods: 1\n", want: []string{`kind ""`}},
		{name: "an empty file", file: "", want: []string{"kubelet.yaml", "empty"}},
		{name: "a list", file: "- 1\n", want: []string{"want a KubeletConfiguration object"}},
		{name: "two documents", file: header + "---\n" + header, want: []string{"one YAML document"}},
		{name: "an unknown gate in the file", file: header + "featureGates: {Teleport: true}\n", want: []string{"featureGates[Teleport]", "unknown feature gate"}},
		{name: "an unknown gate in a flag", args: []string{"--feature-gates=Teleport=true"}, want: []string{"featureGates[Teleport]"}},
		{name: "a gate that is no switch", args: []string{"--feature-gates=NodeSwap=maybe"}, want: []string{"feature-gates", "NodeSwap=maybe"}},
		{name: "a missing file", args: []string{"--config=/nowhere/kubelet.yaml"}, want: []string{"/nowhere/kubelet.yaml"}},
		{name: "a missing drop-in directory", args: []string{"--config-dir=/nowhere"}, want: []string{"/nowhere"}},
		{name: "an unknown flag", args: []string{"--warp=9"}, want: []string{"unknown flag: --warp"}},
		{name: "an argument", args: []string{"run"}, want: []string{`unexpected argument "run"`}},
		{name: "a cluster for one run", args: []string{"--kubeconfig=/etc/kubernetes/kubelet.conf", "--runonce"}, want: []string{"--kubeconfig", "combined with runOnce"}},
		{name: "a kernel that is protected and set", args: []string{"--protect-kernel-defaults", "--kernel-tunables=set"}, want: []string{"--kernel-tunables", "protectKernelDefaults"}},
		{name: "a mode for the kernel that does not exist", args: []string{"--kernel-tunables=reset"}, want: []string{"--kernel-tunables", "reset"}},
		{name: "a bootstrap", args: []string{"--bootstrap-kubeconfig=x"}, want: []string{"--kubeconfig", "Required"}},
		{name: "a cloud inside", args: []string{"--cloud-provider=aws"}, want: []string{"--cloud-provider", "external"}},
		{name: "a taint without effect", args: []string{"--register-with-taints=a=b"}, want: []string{"register-with-taints", "key=value:Effect"}},
		{name: "a taint that is none", args: []string{"--register-with-taints=a_=b:Never"}, want: []string{"registerWithTaints[0].key", "registerWithTaints[0].effect", "NoExecute"}},
		{name: "fewer images than none", file: header + "nodeStatusMaxImages: -2\n", want: []string{"nodeStatusMaxImages", "between -1"}},
		{name: "a lease that is over at once", file: header + "nodeLeaseDurationSeconds: 1\n", want: []string{"nodeLeaseDurationSeconds", "between 4"}},
		{name: "port 0", args: []string{"--port=0"}, want: []string{"port: Invalid value: 0", "between 1 and 65535"}, not: "readOnlyPort"},
		{name: "a negative port", args: []string{"--healthz-port=-1"}, want: []string{"healthzPort"}},
		{name: "one port twice", args: []string{"--read-only-port=10250"}, want: []string{"readOnlyPort", "must differ"}},
		{name: "an address that is a name", args: []string{"--address=localhost"}, want: []string{"address", "IP address"}},
		{name: "a log size that is none", file: header + "containerLogMaxSize: big", want: []string{"containerLogMaxSize", "big"}},
		{name: "a log without room to rotate", file: header + "containerLogMaxFiles: 1", want: []string{"containerLogMaxFiles", "between 2"}},
		{name: "logs looked at without a pause", file: header + "containerLogMonitorInterval: 1s", want: []string{"containerLogMonitorInterval", "at least 3s"}},
		{name: "a sysctl of the whole machine", file: header + "allowedUnsafeSysctls: [kernel.shm*, vm.swappiness]\n", want: []string{"allowedUnsafeSysctls[1]", "namespaced sysctl"}},
		{name: "users that are not whole", file: header + "userNamespaces: {idsPerPod: 70000}\n", want: []string{"userNamespaces.idsPerPod", "a multiple of 65536"}},
		{name: "a sysctl of the whole machine for every pod", file: header + "defaultPodSysctls: {vm.swappiness: '1'}\n", want: []string{"defaultPodSysctls[vm.swappiness]", "namespaced sysctl"}},
		{name: "a beginning for every pod", file: header + "defaultPodSysctls: {net.*: '1'}\n", want: []string{"defaultPodSysctls[net.*]", "the name of a sysctl"}},
		{name: "a sysctl in both spellings", file: header + "defaultPodSysctls: {net.core.somaxconn: '1', net/core/somaxconn: '2'}\n", want: []string{"defaultPodSysctls[net/core/somaxconn]", "Duplicate"}},
		{name: "a sysctl that is no name", file: header + "allowedUnsafeSysctls: ['net.*.all']\n", want: []string{"allowedUnsafeSysctls[0]", "the name of a sysctl"}},
		{name: "a reserve that is no quantity", file: header + "kubeReserved: {memory: much, cpu: '-1'}\n", want: []string{"kubeReserved[cpu]", "at least 0", "kubeReserved[memory]", "much"}},
		{name: "a reserve of an unknown resource", file: header + "systemReserved: {gold: '1'}\n", want: []string{"systemReserved[gold]", "pid"}},
		{name: "an eviction threshold that is no quantity", file: header + "evictionHard: {memory.available: 120%, nodefs.available: some}\n",
			want: []string{"evictionHard[memory.available]", "100%", "evictionHard[nodefs.available]"}},
		{name: "a threshold of an unknown signal", file: header + "evictionHard: {gold.available: '1'}\n", want: []string{"evictionHard[gold.available]", "memory.available"}},
		{name: "a soft threshold without a grace period", file: header + "evictionSoft: {memory.available: 1Gi}\n", want: []string{"evictionSoftGracePeriod[memory.available]", "Required"}},
		{name: "a grace period that is none", file: header + "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: -1s}\n",
			want: []string{"evictionSoftGracePeriod[memory.available]", "1m30s"}},
		{name: "a minimum that is none", file: header + "evictionMinimumReclaim: {nodefs.available: some}\n", want: []string{"evictionMinimumReclaim[nodefs.available]"}},
		{name: "an unknown thing to enforce", file: header + "enforceNodeAllocatable: [pods, all]\n", want: []string{"enforceNodeAllocatable[1]", "all"}},
		{name: "nothing and something to enforce", file: header + "enforceNodeAllocatable: [pods, none]\n", want: []string{"enforceNodeAllocatable[1]", "combined with other values"}},
		{name: "groups to hold without their cgroups", file: header + "enforceNodeAllocatable: [pods, kube-reserved, system-reserved-compressible]\n", want: []string{"kubeReservedCgroup", "systemReservedCgroup"}},
		{name: "a group to hold in two ways", file: header + "enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /kube\n", want: []string{"enforceNodeAllocatable", "cannot be combined"}},
		{name: "a cgroup for CPUs that have names", file: header + "reservedSystemCPUs: '0'\nenforceNodeAllocatable: [system-reserved]\nsystemReservedCgroup: /system\n", want: []string{"systemReservedCgroup", "reservedSystemCPUs"}},
		{name: "CPUs together and apart", file: header + "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {distribute-cpus-across-cores: 'true', full-pcpus-only: 'true'}\n", want: []string{"cpuManagerPolicyOptions[distribute-cpus-across-cores]", "cannot be combined with full-pcpus-only"}},
		{name: "closeness that is no switch", file: header + "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: some}\n", want: []string{"topologyManagerPolicyOptions[prefer-closest-numa-nodes]", "true or false"}},
		{name: "an unknown cgroup driver", file: header + "cgroupDriver: magic\n", want: []string{"cgroupDriver", "systemd"}},
		{name: "a period that the kernel refuses", file: header + "cpuCFSQuotaPeriod: 2s\n", want: []string{"cpuCFSQuotaPeriod", "1ms and 1s"}},
		{name: "an unknown way to swap", file: header + "memorySwap: {swapBehavior: UnlimitedSwap}\n", want: []string{"memorySwap.swapBehavior", "LimitedSwap"}},
		{name: "no processes at all", file: header + "podPidsLimit: 0\n", want: []string{"podPidsLimit", "-1 for no limit"}},
		{name: "a crash-loop maximum over five minutes", file: header + "crashLoopBackOff: {maxContainerRestartPeriod: 301s}\n", want: []string{"crashLoopBackOff.maxContainerRestartPeriod", "1s and 300s"}},
		{name: "a certificate without its key", args: []string{"--tls-cert-file=a"}, want: []string{"tlsCertFile", "tlsPrivateKeyFile"}},
		{name: "an unknown mode", args: []string{"--authorization-mode=RBAC"}, want: []string{"authorization.mode", "RBAC"}},
		{name: "an unknown log format", args: []string{"--logging-format=xml"}, want: []string{"logging.format", "xml"}},
		{name: "an endpoint that is no socket", args: []string{"--container-runtime-endpoint=tcp://1.2.3.4:5"}, want: []string{"containerRuntimeEndpoint"}},
		{name: "a URL that is none", args: []string{"--manifest-url=ftp://user:hunter2@h/"}, want: []string{"staticPodURL"}},
		{name: "a header without a value", args: []string{"--manifest-url-header=hunter2"}, want: []string{"want name:value"}},
		{name: "a node name that is no DNS name", args: []string{"--hostname-override=a_b"}, want: []string{"node name", "a_b"}},
		{name: "a label that is none", args: []string{"--node-labels=a=b=c"}, want: []string{"--node-labels", "b=c"}},
		{name: "services of another family", args: []string{"--service-cidr=fd00::/112"}, want: []string{"--service-cidr", "IPv4"}},
		{name: "services with addresses of pods", args: []string{"--service-cidr=10.1.0.0/16", "--pod-cidr=10.1.2.0/24"}, want: []string{"--service-cidr", "overlaps podCIDR"}},
		{name: "a DNS server without an address", args: []string{"--cluster-dns=10.0.0.10,dns.test"}, want: []string{"clusterDNS[1]", "dns.test"}},
		{name: "an address and a family", args: []string{"--node-ip=192.0.2.1,::"}, want: []string{"--node-ip", "alone"}},
		{name: "two addresses of one family", args: []string{"--node-ip=192.0.2.1,192.0.2.2"}, want: []string{"--node-ip"}},
		{name: "two faults name both", args: []string{"--port=0", "--max-pods=-1"}, want: []string{"port", "maxPods"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := tc.args
			if args == nil {
				path := filepath.Join(t.TempDir(), "kubelet.yaml")
				if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
				args = []string{"--config", path}
			}
			_, err := Load(args)
			if err == nil {
				t.Fatal("Load took it")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if tc.not != "" && strings.Contains(err.Error(), tc.not) {
				t.Errorf("error %q says %q", err, tc.not)
			}
		})
	}
}

func TestTaintsOfTheNode(t *testing.T) {
	got := load(t, "--register-with-taints=a=b:NoSchedule,c:NoExecute", "--cloud-provider=external").Cluster.Taints
	want := []corev1.Taint{
		{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
		{Key: "c", Effect: corev1.TaintEffectNoExecute},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnEmptyKubeconfigIsStandalone(t *testing.T) {
	load(t, "--kubeconfig=", "--bootstrap-kubeconfig=")
}

func TestTextsInsteadOfANode(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want error
	}{
		{[]string{"--help"}, ErrHelp},
		{[]string{"-h"}, ErrHelp},
		{[]string{"--version"}, ErrVersion},
		{[]string{"--version=raw"}, ErrVersionRaw},
		{[]string{"--version=json"}, ErrVersionJSON},
	} {
		if _, err := Load(tc.args); !errors.Is(err, tc.want) {
			t.Errorf("Load(%q) = %v, want %v", tc.args, err, tc.want)
		}
	}
}

func TestLabelsOnTheCommandLineAreReadAsUpstreamReadsThem(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want map[string]string
	}{
		{"some", []string{"--node-labels=rack=r1,zone=a"}, map[string]string{"rack": "r1", "zone": "a"}},
		{"none at all", []string{"--node-labels="}, nil},
		{"a name alone", []string{"--node-labels=example.com/worker"}, map[string]string{"example.com/worker": ""}},
		{"spaces, and a comma too many", []string{"--node-labels= rack = r1 ,, zone=a,"}, map[string]string{"rack": "r1", "zone": "a"}},
		{"the flag twice", []string{"--node-labels=rack=r1,zone=a", "--node-labels=zone=b"}, map[string]string{"rack": "r1", "zone": "b"}},
	} {
		if got := load(t, c.args...).Node.Labels; !maps.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := load(t, "--node-labels=zone=a,rack=r1").given.commandLine["node-labels"]; got != "rack=r1,zone=a" {
		t.Errorf("the flag is shown as %q, want sorted labels", got)
	}
}
