package main

import (
	"os"
	"path/filepath"
	"testing"

	"nodal/cmd/kubelet/config"
)

func TestWhatIsPurgedIsWhatTheSettingsName(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "config.yaml")
	for _, c := range []struct{ name, text, logs string }{
		{"logs elsewhere", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\npodLogsDir: /data/logs\n", "/data/logs"},
		{"nothing said of logs", "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n", config.DefaultPodLogs},
		{"what nobody can read", "kind: [", config.DefaultPodLogs},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(settings, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := usedBy(settings, "/data/node"); got.PodLogs != c.logs || got.Root != "/data/node" {
				t.Errorf("the directories are %+v, want logs in %s", got, c.logs)
			}
		})
	}
}
