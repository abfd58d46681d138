package server

import (
	"strings"
	"testing"
	"time"
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
		`{"name":"evictionHard","flag":"--eviction-hard","source":"/etc/kubelet.yaml","value":{"memory.available":"1Gi"},"takenBy":"TAKEN_BY_RELOAD"},` +
		`{"name":"podsPerCore","source":"--pods-per-core","value":7,"instead":"maxPods alone limits","takenBy":"TAKEN_BY_RESTART"}],` +
		`"featureGates":[{"name":"EventedPLEG","stage":"alpha","told":false,"inForce":true,"note":"always heard","withoutEffect":true}]}`
	if got := n.do(t, "GET", "/v1/node/config?givenOnly=true", ""); got.status != 200 || strings.TrimSpace(got.body) != given {
		t.Errorf("what is given: got %d\n%s\nwant\n%s", got.status, got.body, given)
	}
	const all = `{"settings":[{"name":"--root-dir","value":"/srv","takenBy":"TAKEN_BY_RESTART"},` +
		`{"name":"evictionHard","flag":"--eviction-hard","source":"/etc/kubelet.yaml","value":{"memory.available":"1Gi"},"takenBy":"TAKEN_BY_RELOAD"},` +
		`{"name":"podsPerCore","source":"--pods-per-core","value":7,"instead":"maxPods alone limits","takenBy":"TAKEN_BY_RESTART"}],` +
		`"featureGates":[{"name":"EnvFiles","stage":"beta","note":"refused"},` +
		`{"name":"EventedPLEG","stage":"alpha","told":false,"inForce":true,"note":"always heard","withoutEffect":true}]}`
	if got := n.do(t, "GET", "/v1/node/config", ""); got.status != 200 || strings.TrimSpace(got.body) != all {
		t.Errorf("all: got %d\n%s\nwant\n%s", got.status, got.body, all)
	}
}

func TestTheNodeTellsHowItFollowsItsFiles(t *testing.T) {
	files, read := []string{"/etc/kubelet.yaml", "/etc/kubelet.d"}, testNow
	for _, c := range []struct {
		name string
		Configured
		want string
	}{
		{"no change since the start", Configured{Files: files, ReadAt: read},
			`{"files":["/etc/kubelet.yaml","/etc/kubelet.d"],"readAt":"2026-05-01T12:00:00Z"}`},
		{"one setting is taken, another waits", Configured{
			ReadAt: read, Taken: []string{"maxPods"}, TakenAt: read.Add(-time.Second),
			Waiting: []Waiting{{"evictionSoft", []byte(`{"a":"1"}`), []byte("null")}, {"port", []byte("10250"), []byte("10260")}},
		}, `{"readAt":"2026-05-01T12:00:00Z","takenAt":"2026-05-01T11:59:59Z","taken":["maxPods"],"needsRestart":[` +
			`{"name":"evictionSoft","running":{"a":"1"},"wanted":null},{"name":"port","running":10250,"wanted":10260}]}`},
		{"the files are broken", Configured{ReadAt: read, Fault: "10.conf: no such field"},
			`{"readAt":"2026-05-01T12:00:00Z","fault":"10.conf: no such field"}`},
	} {
		n := newNode(t, func(cfg *Config) { cfg.State.Configuration = configured(c.Configured) })
		if got := n.do(t, "GET", "/v1/node", ""); got.status != 200 || !strings.Contains(got.body, `"configuration":`+c.want) {
			t.Errorf("%s: got %d %s\nwant in it %s", c.name, got.status, got.body, c.want)
		}
	}
}
