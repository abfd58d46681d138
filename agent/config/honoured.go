package config

import (
	"reflect"
	"slices"
	"strings"

	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/health"
)

// An Unmet setting was given and has no effect.
type Unmet struct {
	Setting string // "oomScoreAdj" or "--vmodule"
	Means   string // what the node does instead
}

func (u Unmet) String() string { return u.Setting + " (" + u.Means + ")" }

// Unhonoured returns the fields and flags that were given and have no effect, sorted.
func Unhonoured(c *Config) []Unmet {
	var plain kubelet.KubeletConfiguration
	setDefaults(&plain)
	defaults := make(map[string]any)
	for path, v := range fields(&plain) {
		defaults[path] = v.Interface()
	}

	var all []Unmet
	for _, f := range c.given.ignoredFlags {
		all = append(all, Unmet{"--" + f.name, f.means})
	}
	for path, v := range fields(&c.given.options.Kubelet) {
		at := slices.IndexFunc(idle, func(s idleSetting) bool { return s.field == path })
		if at >= 0 && !same(v.Interface(), defaults[path]) {
			all = append(all, Unmet{path, idle[at].means})
		}
	}
	if c.Runtime.Endpoint != "" && len(c.Runtime.PodCIDRs) > 0 {
		all = append(all, Unmet{"podCIDR", "with --container-runtime-endpoint the runtime's own CNI configuration decides"})
	}
	if c.Runtime.Endpoint != "" && len(c.Runtime.Closed) > 0 {
		all = append(all, Unmet{"--pods-reach-kubelet=false", "with --container-runtime-endpoint pods are on the network of that " +
			"runtime's CNI plugins"})
	}
	if c.Cluster.Kubeconfig == "" {
		all = append(all, forMembers(c.Auth)...)
	}
	all = append(all, unmetGates(c)...)
	all = append(all, withoutGates(&c.given.options.Kubelet)...)
	all = append(all, derivedThresholds(&c.given.options.Kubelet)...)
	all = append(all, unchosenSuites(&c.given.options.Kubelet)...)
	slices.SortFunc(all, func(a, b Unmet) int { return strings.Compare(a.Setting, b.Setting) })
	return all
}

// same reports whether two values of a field mean the same. A file may give the interval of flushes as a number.
func same(a, b any) bool {
	if d, ok := a.(logsapi.TimeOrMetaDuration); ok {
		return d.Duration == b.(logsapi.TimeOrMetaDuration).Duration
	}
	return reflect.DeepEqual(a, b)
}

// forMembers returns the settings that need a cluster.
func forMembers(a Auth) (all []Unmet) {
	if a.Tokens {
		all = append(all, Unmet{"authentication.webhook.enabled", "without --kubeconfig the node's own tokens count alone"})
	}
	if a.Mode == AuthWebhook {
		all = append(all, Unmet{"authorization.mode=Webhook", "without --kubeconfig the node's own roles decide"})
	}
	if a.Serving {
		all = append(all, Unmet{"serverTLSBootstrap", "without --kubeconfig the node issues its own certificate"})
	}
	return all
}

// derivedThresholds returns the thresholds of the containers' file system: it has those of the disk that it is on.
func derivedThresholds(k *kubelet.KubeletConfiguration) (all []Unmet) {
	for _, setting := range []struct {
		name   string
		values map[string]string
	}{{"evictionHard", k.EvictionHard}, {"evictionSoft", k.EvictionSoft}} {
		for signal := range setting.values {
			if health.OfContainerFs(signal) {
				all = append(all, Unmet{setting.name + "[" + signal + "]", "the thresholds of imagefs hold if images have a disk of their own, else those of nodefs"})
			}
		}
	}
	return all
}
