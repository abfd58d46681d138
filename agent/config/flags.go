package config

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// Options is what the flags write into.
type Options struct {
	ConfigFile       string
	ConfigDir        string
	RootDir          string
	CertDir          string
	Socket           string
	HostnameOverride string
	NodeIP           string
	NodeLabels       map[string]string
	SandboxImage     string
	StopRuntime      bool
	ProviderConfig   string
	ProviderPrograms string
	Kubeconfig       string
	Bootstrap        string
	CloudProvider    string
	KernelTunables   string
	Version          bool

	// Kubelet takes the flags that are names for a field of the file.
	Kubelet kubelet.KubeletConfiguration
}

// Flags declares every flag on fs. What o.Kubelet says already stands until a
// flag overrides it; its unset fields get their defaults first.
func Flags(fs *pflag.FlagSet, o *Options) {
	setDefaults(&o.Kubelet)
	fs.SetNormalizeFunc(dashes)
	fs.StringVar(&o.ConfigFile, "config", "", "configuration `file`: a KubeletConfiguration in YAML or JSON")
	fs.StringVar(&o.ConfigDir, "config-dir", "", "`directory` of drop-ins (*.conf, sorted) that are merged over --config")
	fs.BoolVar(&o.Version, "version", false, "print the version and exit")
	fs.BoolP("help", "h", false, "print this text and exit")
	fs.StringVar(&o.HostnameOverride, "hostname-override", "", "`name` of the node (default: the host's name in lower case)")
	fs.StringVar(&o.NodeIP, "node-ip", "", "`IP` of the node, or one IPv4 and one IPv6 joined by a comma")
	fs.StringVar(&o.SandboxImage, "pod-infra-container-image", "", "`image` that holds a pod's namespaces, for the node's own runtime (default: the one that it brings, or "+DefaultSandboxImage+")")
	fs.StringVar(&o.ProviderConfig, "image-credential-provider-config", "", "`file` or directory that says which programs are asked for registry credentials")
	fs.StringVar(&o.ProviderPrograms, "image-credential-provider-bin-dir", "", "`directory` of those programs")
	fs.BoolVar(&o.StopRuntime, "stop-runtime-on-exit", false, "end the node's own container runtime with the agent; pods go on all the same")
	fs.StringToStringVar(&o.NodeLabels, "node-labels", nil, "`labels` of the node, key=value joined by commas, for node selectors and affinity")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "`file` that says how to reach the API server of the cluster that the node belongs to (default: none, the node stands alone)")
	fs.StringVar(&o.Bootstrap, "bootstrap-kubeconfig", "", "`file` with a credential that may ask for a certificate; used when --kubeconfig is missing or its certificate has run out")
	fs.StringVar(&o.CloudProvider, "cloud-provider", "", "`who` looks after the machine: external, if a cloud has to do so before pods come")
	fs.StringVar(&o.KernelTunables, "kernel-tunables", "", "`set or leave` the kernel's settings that differ from what nodes want (default set with --kubeconfig, else leave)")
	fs.Func("register-with-taints", "`taints` of the node, key=value:Effect joined by commas: of its Node object or, where it stands alone, held against pods if they are NoExecute", taints(&o.Kubelet.RegisterWithTaints))
	fs.StringVar(&o.RootDir, "root-dir", DefaultRoot, "`directory` for everything the node keeps")
	fs.StringVar(&o.CertDir, "cert-dir", "", "`directory` of certificates (default <root-dir>/pki)")
	fs.StringVar(&o.Socket, "socket", DefaultSocket, "unix socket `path` of the node API; empty for none")

	for _, f := range fieldFlags {
		addFieldFlag(fs, f, fieldPointer(&o.Kubelet, f.field))
	}
	for _, name := range ignoredFlags {
		fs.String(name, "", "")
	}
	for _, r := range refusedFlags {
		fs.Func(r.name, "", r.refuse)
	}
}

// dashes lets --root_dir mean --root-dir, as upstream does.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// addFieldFlag declares f on the field that p points to.
func addFieldFlag(fs *pflag.FlagSet, f fieldFlag, p any) {
	switch p := p.(type) {
	case *bool:
		fs.BoolVar(p, f.name, *p, f.usage)
	case *string:
		fs.StringVar(p, f.name, *p, f.usage)
	case *kubelet.KubeletAuthorizationMode:
		fs.StringVar((*string)(p), f.name, string(*p), f.usage)
	case *int32:
		fs.Int32Var(p, f.name, *p, f.usage)
	case *int64:
		fs.Int64Var(p, f.name, *p, f.usage)
	case *logsapi.VerbosityLevel:
		fs.Uint32VarP((*uint32)(p), f.name, f.name, uint32(*p), f.usage)
	case *metav1.Duration:
		fs.DurationVar(&p.Duration, f.name, p.Duration, f.usage)
	case *[]string:
		fs.StringSliceVar(p, f.name, *p, f.usage)
	case *map[string]string:
		fs.Func(f.name, f.usage, pairs(p, f.separator()))
	case *map[string][]string:
		fs.Func(f.name, f.usage, headers(p))
	case *map[string]bool:
		fs.Func(f.name, f.usage, gates(p))
	}
}

// pairs parses "a=1,b=2". The first use replaces what the file said, as it
// does for lists; further uses add to it.
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

// gates parses "A=true,B=false" over the gates of the file: gates are single
// switches, so those not named keep what the file says.
func gates(into *map[string]bool) func(string) error {
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

// items yields what stands between the commas of s, without the empty ones.
func items(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}
