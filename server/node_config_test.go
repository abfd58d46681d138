package server

import (
	"strings"
	"testing"
)

func TestTheNodeTellsItsSettings(t *testing.T) {
	no := false
	n := newNode(t, func(c *Config) {
		c.State.Configuration = configured{Settings: Settings{
			All: []Setting{
				{Name: "--root-dir", Value: []byte(`"/srv"`)},
				{Name: "evictionHard", Flag: "--eviction-hard", Source: "/etc/kubelet.yaml", Value: []byte(`{"memory.available":"1Gi"}`), TakenBy: "eviction"},
				{Name: "podsPerCore", Source: "--pods-per-core", Value: []byte("7"), Instead: "maxPods alone limits"},
			},
			Gates: []FeatureGate{
				{Name: "EnvFiles", Stage: "beta", Means: "refused"},
				{Name: "EventedPLEG", Stage: "alpha", Told: &no, InForce: true, Means: "always heard", Unmet: true},
			},
		}}
	})
	const given = `{"settings":[` +
		`{"name":"evictionHard","flag":"--eviction-hard","source":"/etc/kubelet.yaml","value":{"memory.available":"1Gi"}},` +
		`{"name":"podsPerCore","source":"--pods-per-core","value":7,"instead":"maxPods alone limits"}],` +
		`"featureGates":[{"name":"EventedPLEG","stage":"alpha","told":false,"inForce":true,"note":"always heard","withoutEffect":true}]}`
	if got := n.do(t, "GET", "/v1/node/config?givenOnly=true", ""); got.status != 200 || strings.TrimSpace(got.body) != given {
		t.Errorf("what is given: got %d\n%s\nwant\n%s", got.status, got.body, given)
	}
	const all = `{"settings":[{"name":"--root-dir","value":"/srv"},` +
		`{"name":"evictionHard","flag":"--eviction-hard","source":"/etc/kubelet.yaml","value":{"memory.available":"1Gi"}},` +
		`{"name":"podsPerCore","source":"--pods-per-core","value":7,"instead":"maxPods alone limits"}],` +
		`"featureGates":[{"name":"EnvFiles","stage":"beta","note":"refused"},` +
		`{"name":"EventedPLEG","stage":"alpha","told":false,"inForce":true,"note":"always heard","withoutEffect":true}]}`
	if got := n.do(t, "GET", "/v1/node/config", ""); got.status != 200 || strings.TrimSpace(got.body) != all {
		t.Errorf("all: got %d\n%s\nwant\n%s", got.status, got.body, all)
	}
}
