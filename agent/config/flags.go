package config

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node"
	"nodal/node/audit"
	"nodal/node/seal"
)

// Options receives the values of the flags.
type Options struct {
	ConfigFile        string
	ConfigDir         string
	RootDir           string
	CertDir           string
	Socket            string
	NodesFile         string
	HostnameOverride  string
	NodeIP            string
	NodeLabels        map[string]string
	NodeLabelsFile    string
	SandboxImage      string
	StopRuntime       bool
	ShutdownOnSIGTERM bool
	Ended             node.Retention
	PodsReachKubelet  bool
	ServiceCIDR       string
	ImportLimit       string
	LogBudget         string
	ProviderConfig    string
	ProviderPrograms  string
	Kubeconfig        string
	Bootstrap         string
	CloudProvider     string
	KernelTunables    string
	LockFile          string
	ExitOnContention  bool
	Version           VersionRequest
	SecretsKey        string
	UsageHistory      string
	PodHistory        string
	CDIDevices        []string
	CDIDirs           []string
	Policy            PolicyFlags
	Audit             AuditFlags
	RuntimeCgroups    string

	// Kubelet receives the flags that stand for a field of the file.
	Kubelet kubelet.KubeletConfiguration

	fileLabels map[string]string // in NodeLabelsFile
	hints      hints
}

// Flags declares every flag on fs. It first gives the unset fields of o.Kubelet
// their defaults; a flag overrides the value that is there.
func Flags(fs *pflag.FlagSet, o *Options) {
	setDefaults(&o.Kubelet)
	fs.SetNormalizeFunc(dashes)
	fs.StringVar(&o.ConfigFile, "config", "", "configuration `file`: a KubeletConfiguration in YAML or JSON")
	fs.StringVar(&o.ConfigDir, "config-dir", "", "`directory` of drop-ins (*.conf, sorted) that are merged over the file of --config")
	fs.Var(&o.Version, "version", "print the version of Kubernetes and exit; =json adds those of this program and its runtime, =raw prints a Go value")
	fs.Lookup("version").NoOptDefVal = string(ErrVersion)
	fs.BoolP("help", "h", false, "print this text and exit")
	fs.StringVar(&o.HostnameOverride, "hostname-override", "", "`name` of the node (default: the host's name in lower case)")
	fs.StringVar(&o.NodeIP, "node-ip", "", "`IP` of the node, or one IPv4 and one IPv6 joined by a comma; 0.0.0.0 or :: for one of that family (default: that of the last start, of the node's name in /etc/hosts or DNS, or of the default route)")
	fs.StringVar(&o.SandboxImage, "pod-infra-container-image", "", "pause `image` of the built-in runtime; most pods take its files and are held by a program of the node (default: the bundled image, or "+DefaultSandboxImage+")")
	fs.StringVar(&o.ProviderConfig, "image-credential-provider-config", "", "CredentialProviderConfig `file`, or a directory of such files")
	fs.StringVar(&o.ProviderPrograms, "image-credential-provider-bin-dir", "", "`directory` of the credential provider programs")
	fs.BoolVar(&o.StopRuntime, "stop-runtime-on-exit", false, "stop the built-in container runtime when the kubelet stops; containers keep running")
	fs.BoolVar(&o.ShutdownOnSIGTERM, "shutdown-on-sigterm", false, "take SIGTERM as a shutdown of the machine, where no logind announces one: end the pods as shutdownGracePeriod says, then stop; a second SIGTERM stops at once; pods run again at the next start")
	fs.StringVar(&o.RuntimeCgroups, "runtime-cgroups", "", "`cgroup` of another container runtime, whose usage stats show (default: that of the built-in runtime)")
	fs.BoolVar(&o.PodsReachKubelet, "pods-reach-kubelet", true, "let pods on the built-in runtime's network connect to --port and --read-only-port; false answers them with a reset")
	fs.StringVar(&o.ServiceCIDR, "service-cidr", "", "IPv4 `subnet` of the addresses of Services on a node without a cluster, or none for no Services (default: an unused one)")
	usual := node.UsualRetention()
	fs.DurationVar(&o.Ended.MinAge, "minimum-container-ttl-duration", usual.MinAge, "`age` below which a container that has ended is not removed")
	fs.IntVar(&o.Ended.Older, "maximum-dead-containers-per-container", usual.Older, "`number` of runs of a container that are kept besides its newest; below 0 for no limit")
	fs.IntVar(&o.Ended.Node, "maximum-dead-containers", usual.Node, "`number` of such runs that are kept on the node; below 0 for no limit")
	fs.StringVar(&o.ImportLimit, "image-import-limit", "", "`bytes` that the layers of one imported image may unpack to, such as 20Gi (default: what the disk has)")
	fs.StringVar(&o.LogBudget, "container-log-budget", defaultLogBudget, "`amount` of disk for the logs of all containers, those of deleted pods and earlier runs included: bytes, a share of the file system, or the less of both; 0 keeps no logs of deleted pods")
	fs.Var(labelsFlag{&o.NodeLabels}, "node-labels", "`labels` of the node, key=value joined by commas, matched by node selectors and affinity")
	fs.StringVar(&o.NodeLabelsFile, "node-labels-file", "", "`file` of labels of the node, one key=value a line, which is read again when it changes; those of --node-labels win")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `file` for the API server of the cluster (default: none; the node runs on its own)")
	fs.StringVar(&o.Bootstrap, "bootstrap-kubeconfig", "", "kubeconfig `file` with a credential that may request a client certificate; used when --kubeconfig does not exist or its certificate has expired")
	fs.StringVar(&o.CloudProvider, "cloud-provider", "", "`external` if a cloud controller has to initialize the node before it takes pods; otherwise empty")
	fs.StringVar(&o.KernelTunables, "kernel-tunables", "", "`set or leave` sysctls whose value differs from the one that a node needs (default: set with --kubeconfig, else leave)")
	fs.Func("register-with-taints", "`taints` of the node, key=value:Effect joined by commas; without --kubeconfig only NoExecute has an effect", taints(&o.Kubelet.RegisterWithTaints))
	fs.StringVar(&o.RootDir, "root-dir", DefaultRoot, "`directory` of all data of the node")
	fs.StringVar(&o.LockFile, "lock-file", "", "`file` whose lock the kubelet waits for before it starts, and holds")
	fs.BoolVar(&o.ExitOnContention, "exit-on-lock-contention", false, "end when another process opens --lock-file")
	fs.StringVar(&o.CertDir, "cert-dir", "", "`directory` of certificates (default: <root-dir>/pki)")
	fs.StringVar(&o.Socket, "socket", DefaultSocket, "unix socket `path` of the node API; empty for none")
	fs.StringVar(&o.NodesFile, "nodes-file", "", "`file` of kubelet context with other nodes, which the dashboard shows to all who may read this node, by a viewer's token for each; it is read again when it changes (default: none)")
	fs.StringVar(&o.SecretsKey, "secrets-key", string(seal.Beside), "`source` of the key that seals Secrets on the disk: beside (a file below --root-dir), file:/PATH, credential:NAME (from systemd) or kms:unix:///PATH (a KMS v2 plugin)")
	fs.StringVar(&o.PodHistory, "pod-history-size", "8Mi", "`bytes` on the disk for how pods were at earlier revisions, such as 8Mi, or four times what the present pods take if that is more; 0 for no record")
	fs.StringVar(&o.UsageHistory, "usage-history-size", "8Mi", "`bytes` on the disk for what the node and its pods have used, such as 8Mi: a day every 15 seconds and a week every 5 minutes, or less if there are many pods; 0 for no record")
	fs.StringSliceVar(&o.CDIDevices, "cdi-devices", nil, "`kinds` of the machine's CDI devices that pods can have without a device plugin, joined by commas: vendor.com/class, or vendor.com/class:as=vendor.com/resource:shares=4 for another name of the resource and for 4 containers that share one device")
	fs.StringSliceVar(&o.CDIDirs, "cdi-spec-dirs", []string{"/etc/cdi", "/var/run/cdi"}, "`directories` of CDI specs; another runtime than the built-in one has to be told the same ones")
	policyFlags(fs, &o.Policy)
	auditFlags(fs, &o.Audit)

	for field, s := range fieldSettings() {
		if s.flag != "" {
			addFieldFlag(fs, s, fieldPointer(&o.Kubelet, field))
		}
	}
	for _, f := range ignoredFlags {
		fs.String(f.name, "", "")
		if f.form == toggled {
			fs.Lookup(f.name).NoOptDefVal = "true"
		}
	}
}

func policyFlags(fs *pflag.FlagSet, f *PolicyFlags) {
	all := []string{"*"}
	fs.StringSliceVar(&f.Levels, "pod-security", nil, "Pod Security `levels` (privileged, baseline, restricted) of admin, operator, cluster, file, url and of namespaces: operator=privileged,namespace/prod=restricted; the stricter one of poster and namespace counts (default: operator=baseline, all others privileged)")
	fs.BoolVar(&f.AllowPrivileged, "allow-privileged", true, "accept pods with privileged containers")
	fs.StringSliceVar(&f.HostNetwork, "host-network-sources", all, "`sources` whose pods may use the machine's network: api, cluster, file, url; * for all")
	fs.StringSliceVar(&f.HostPID, "host-pid-sources", all, "`sources` whose pods may see the machine's processes, in the same form")
	fs.StringSliceVar(&f.HostIPC, "host-ipc-sources", all, "`sources` whose pods may use the machine's IPC, in the same form")
}

func auditFlags(fs *pflag.FlagSet, f *AuditFlags) {
	fs.StringVar(&f.Path, "audit-log-path", "", "`file` of the audit log (default: <root-dir>/audit/audit.log)")
	fs.IntVar(&f.MaxSize, "audit-log-maxsize", 64, "`MiB` at which the file is rotated")
	fs.IntVar(&f.Backups, "audit-log-maxbackup", 4, "`number` of older files that are kept, at least 1")
	fs.StringSliceVar(&f.Levels, "audit-policy", nil, "`levels` (off, metadata, requests) of read, secrets, write, exec, admin and denied: read=metadata,write=requests; secrets are reads that show values of Secrets, denied are requests of any verb that are refused (default: read=off, all others metadata)")
	fs.StringSliceVar(&f.Fields, "audit-fields", audit.DefaultFields(), "`parts` of an entry that are kept besides the caller, the verb and the outcome: from, groups, object, command")
	fs.StringVar(&f.OnFailure, "audit-on-failure", refuseUnaudited, "`refuse or allow` changes, commands and reads of Secrets while the audit log cannot be written")
}

// dashes lets --root_dir mean --root-dir, as upstream does.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// addFieldFlag declares the flag of a setting on the field that p points to.
func addFieldFlag(fs *pflag.FlagSet, s setting, p any) {
	switch p := p.(type) {
	case *bool:
		fs.BoolVar(p, s.flag, *p, s.usage)
	case *string:
		fs.StringVar(p, s.flag, *p, s.usage)
	case *kubelet.KubeletAuthorizationMode:
		fs.StringVar((*string)(p), s.flag, string(*p), s.usage)
	case *int32:
		fs.Int32Var(p, s.flag, *p, s.usage)
	case *int64:
		fs.Int64Var(p, s.flag, *p, s.usage)
	case *logsapi.VerbosityLevel:
		fs.Uint32VarP((*uint32)(p), s.flag, s.flag, uint32(*p), s.usage)
	case *logsapi.VModuleConfiguration:
		fs.Var(logsapi.VModuleConfigurationPflag(p), s.flag, s.usage)
	case *logsapi.TimeOrMetaDuration:
		fs.DurationVar(&p.Duration.Duration, s.flag, p.Duration.Duration, s.usage)
	case *resource.QuantityValue:
		fs.Var(p, s.flag, s.usage)
	case *[]kubelet.MemoryReservation:
		fs.Func(s.flag, s.usage, reservations(p))
	case *metav1.Duration:
		fs.DurationVar(&p.Duration, s.flag, p.Duration, s.usage)
	case *[]string:
		fs.StringSliceVar(p, s.flag, *p, s.usage)
	case *map[string]string:
		fs.Func(s.flag, s.usage, pairs(p, s.separator()))
	case *map[string][]string:
		fs.Func(s.flag, s.usage, headers(p))
	case *map[string]bool:
		fs.Func(s.flag, s.usage, switches(p))
	}
}

// pairs parses "a=1,b=2". As with lists, the first use of the flag replaces the value of the file; further uses add to it.
func pairs(into *map[string]string, separator string) func(string) error {
	given := map[string]string{}
	return func(s string) error {
		for item := range items(s) {
			key, value, ok := strings.Cut(item, separator)
			if !ok {
				return fmt.Errorf("want name%svalue, got %q", separator, item)
			}
			given[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
		*into = given
		return nil
	}
}

// headers parses "Name:value,Name:other".
func headers(into *map[string][]string) func(string) error {
	given := map[string][]string{}
	return func(s string) error {
		for item := range items(s) {
			name, value, ok := strings.Cut(item, ":")
			if !ok {
				// The value may be a secret, so it is not repeated.
				return errors.New("want name:value")
			}
			name = strings.TrimSpace(name)
			given[name] = append(given[name], strings.TrimSpace(value))
		}
		*into = given
		return nil
	}
}

// reservations parses "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi", by NUMA nodes. The first use replaces the value of
// the file; further uses add to it. As upstream, an empty text leaves the value of the file.
func reservations(into *[]kubelet.MemoryReservation) func(string) error {
	given := []kubelet.MemoryReservation{}
	return func(text string) error {
		if text == "" {
			return nil
		}
		for part := range strings.SplitSeq(text, ";") {
			number, amounts, _ := strings.Cut(part, ":")
			numa, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
			if err != nil {
				return fmt.Errorf("want the number of a NUMA node:name=amount, got %q", part)
			}
			limits := corev1.ResourceList{}
			for item := range items(amounts) {
				name, amount, _ := strings.Cut(item, "=")
				if limits[corev1.ResourceName(name)], err = resource.ParseQuantity(amount); err != nil {
					return fmt.Errorf("want name=amount, got %q: %w", item, err)
				}
			}
			given = append(given, kubelet.MemoryReservation{NumaNode: int32(numa), Limits: limits})
		}
		*into = given
		return nil
	}
}

// switches parses "A=true,B=false" over the gates of the file. Each gate is a
// switch of its own, so gates that the flag does not name keep the file's value.
func switches(into *map[string]bool) func(string) error {
	return func(s string) error {
		for item := range items(s) {
			name, value, _ := strings.Cut(item, "=")
			on, err := strconv.ParseBool(strings.TrimSpace(value))
			if err != nil {
				return fmt.Errorf("want Name=true or Name=false, got %q", item)
			}
			if *into == nil {
				*into = map[string]bool{}
			}
			(*into)[strings.TrimSpace(name)] = on
		}
		return nil
	}
}

// items yields the trimmed parts of s between commas and leaves out empty ones.
func items(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}
