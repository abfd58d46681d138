package config

import (
	"reflect"
	"slices"

	kubelet "k8s.io/kubelet/config/v1beta1"
)

// Unhonoured names, sorted, the fields and flags that were given and have no effect, for the log at the start.
func Unhonoured(c *Config) []string {
	var plain kubelet.KubeletConfiguration
	setDefaults(&plain)
	defaults := make(map[string]any)
	for path, v := range fields(&plain) {
		defaults[path] = v.Interface()
	}

	names := slices.Clone(c.given.ignoredFlags)
	for path, v := range fields(&c.given.kubelet) {
		without := slices.ContainsFunc(idle, func(s setting) bool { return s.field == path })
		if without && !reflect.DeepEqual(v.Interface(), defaults[path]) {
			names = append(names, path)
		}
	}
	if c.Runtime.Endpoint != "" && len(c.Runtime.PodCIDRs) > 0 {
		names = append(names, "podCIDR (with --container-runtime-endpoint the runtime's own CNI configuration decides)")
	}
	if c.Cluster.Kubeconfig == "" {
		names = append(names, forMembers(c.Auth)...)
	}
	if !reflect.DeepEqual(c.given.kubelet.EvictionHard, plain.EvictionHard) {
		names = append(names, "evictionHard (it reduces allocatable, and new pods are refused during a shortage, but no pod is evicted)")
	}
	names = append(names, unchosenSuites(&c.given.kubelet)...)
	slices.Sort(names)
	return names
}

// forMembers names the settings that need a cluster.
func forMembers(a Auth) (names []string) {
	if a.Tokens {
		names = append(names, "authentication.webhook.enabled (without --kubeconfig)")
	}
	if a.Mode == AuthWebhook {
		names = append(names, "authorization.mode=Webhook (without --kubeconfig the node's own roles decide)")
	}
	if a.Serving {
		names = append(names, "serverTLSBootstrap (without --kubeconfig)")
	}
	return names
}
