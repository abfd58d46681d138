package command

import (
	"os"
	"path/filepath"
	"testing"

	"nodal/agent/config"
)

func TestPurgeRemovesTheNodeOfTheSettings(t *testing.T) {
	const header = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
	for _, c := range []struct {
		name, settings, flags, asked string
		want                         config.Dirs // none: refused
	}{
		{"nothing said", header, "", "", config.Dirs{Root: config.DefaultRoot, PodLogs: config.DefaultPodLogs}},
		{"logs elsewhere", header + "podLogsDir: /data/logs\n", "", "/data/node", config.Dirs{Root: "/data/node", PodLogs: "/data/logs"}},
		{"a root among the flags", header, "KUBELET_FLAGS=--v=2 --root-dir=/data/node\n", "", config.Dirs{Root: "/data/node", PodLogs: config.DefaultPodLogs}},
		{"another one is asked for", header, "KUBELET_FLAGS=--root-dir=/data/node\n", "/data/other", config.Dirs{Root: "/data/other", PodLogs: config.DefaultPodLogs}},
		{"settings that cannot be read", "kind: [", "", "", config.Dirs{}},
		{"flags that cannot be read", header, "KUBELET_FLAGS=--no-such-flag\n", "", config.Dirs{}},
		{"flags that systemd reads in its own way", header, "KUBELET_FLAGS=\"--root-dir=/data/node\" --v=2\n", "", config.Dirs{}},
		{"settings that cannot be read, and a root", "kind: [", "", "/data/node", config.Dirs{Root: "/data/node", PodLogs: config.DefaultPodLogs}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			settings, environment := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "kubelet.env")
			for path, text := range map[string]string{settings: c.settings, environment: c.flags} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := usedBy(settings, environment, c.asked)
			if refused := c.want.Root == ""; refused != (err != nil) {
				t.Errorf("got %v, want an error: %t", err, refused)
			}
			if got.Root != c.want.Root || got.PodLogs != c.want.PodLogs {
				t.Errorf("the directories are %+v, want %+v", got, c.want)
			}
		})
	}
}
