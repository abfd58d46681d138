package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// A section is a heading of --help and the flags under it.
type section struct {
	title string
	flags []string
}

var sections = []section{
	{"Configuration (defaults < --config < --config-dir < flags)", []string{"config", "config-dir", "version", "help", "v", "logging-format"}},
	{"Node", []string{"hostname-override", "node-ip", "node-labels", "root-dir", "max-pods", "kernel-tunables", "protect-kernel-defaults"}},
	{"Container runtime", []string{"container-runtime-endpoint", "pod-infra-container-image", "stop-runtime-on-exit", "image-service-endpoint", "runtime-request-timeout", "pod-cidr", "resolv-conf", "cluster-dns", "cluster-domain", "seccomp-default", "allowed-unsafe-sysctls", "serialize-image-pulls", "registry-qps", "registry-burst", "image-gc-high-threshold", "image-gc-low-threshold", "minimum-image-ttl-duration", "image-credential-provider-config", "image-credential-provider-bin-dir", "container-log-max-size", "container-log-max-files"}},
	{"Resources of pods", []string{"cgroups-per-qos", "cgroup-root", "cgroup-driver", "cpu-cfs-quota", "cpu-cfs-quota-period", "pod-max-pids", "local-storage-capacity-isolation", "fail-swap-on", "cpu-manager-policy", "cpu-manager-policy-options", "reserved-cpus", "memory-manager-policy", "topology-manager-policy", "topology-manager-policy-options", "topology-manager-scope", "kube-reserved", "system-reserved", "eviction-hard", "eviction-pressure-transition-period", "enforce-node-allocatable", "kube-reserved-cgroup", "system-reserved-cgroup"}},
	{"Pod sources other than the API", []string{"pod-manifest-path", "file-check-frequency", "manifest-url", "manifest-url-header", "http-check-frequency", "runonce"}},
	{"Cluster membership", []string{"kubeconfig", "bootstrap-kubeconfig", "rotate-certificates", "register-node", "register-with-taints", "provider-id", "cloud-provider", "node-status-update-frequency", "node-status-max-images", "kube-api-qps", "kube-api-burst", "event-qps", "event-burst"}},
	{"Listeners", []string{"socket", "enable-server", "address", "port", "read-only-port", "healthz-bind-address", "healthz-port", "enable-debugging-handlers"}},
	{"Authentication and authorization", []string{"cert-dir", "tls-cert-file", "tls-private-key-file", "client-ca-file", "anonymous-auth", "authorization-mode", "authentication-token-webhook", "authentication-token-webhook-cache-ttl", "authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl", "rotate-server-certificates"}},
}

const width = 100

const commands = `       kubelet install      install as a systemd service and start it
       kubelet uninstall    remove the service; pods keep running, unless --purge is given
       kubelet check        report what this machine lacks for running pods
       kubelet images       list, import and remove images; see kubelet images --help
       kubelet ui           print a sign-in link for the dashboard
       kubelet clean        remove the data of a stopped node, except the data of claims
`

// Usage returns the text of --help.
func Usage() string {
	var o Options
	all := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	Flags(all, &o)

	var b strings.Builder
	b.WriteString("kubelet runs pods on this machine and serves the node API.\n\nUsage: kubelet [flags]\n" + commands)
	for _, s := range sections {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SortFlags = false
		for _, name := range s.flags {
			fs.AddFlag(all.Lookup(name))
		}
		fmt.Fprintf(&b, "\n%s:\n%s", s.title, fs.FlagUsagesWrapped(width))
	}

	b.WriteString("\nAccepted without effect; those given are named in the log at start-up:\n")
	var idle []string
	for _, f := range fieldFlags {
		if !honouredFlag(f.name) {
			idle = append(idle, "--"+f.name)
		}
	}
	for _, name := range ignoredFlags {
		idle = append(idle, "--"+name)
	}
	b.WriteString(wrap(idle))

	b.WriteString("\nRefused:\n")
	for _, r := range refusedFlags {
		fmt.Fprintf(&b, "  --%-22s %s\n", r.name, r.why)
	}
	b.WriteString("\nDefaults that differ from upstream's:\n")
	for _, d := range differences {
		fmt.Fprintf(&b, "  %s = %s\n      %s\n", d.field, d.ours, d.why)
	}
	return b.String()
}

// wrap breaks words into lines of at most width characters.
func wrap(words []string) string {
	var b strings.Builder
	line := " "
	for _, word := range words {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
