package config

import "testing"

func TestLinksToLogsAreWhereCollectorsLook(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"by default", nil, "/var/log/containers"},
		{"with logs elsewhere", []string{"--config", write(t, t.TempDir(), "kubelet.yaml", "podLogsDir: /data/logs/pods\n")}, "/var/log/containers"},
		{"with a root directory of its own", []string{"--root-dir=/data/node"}, "/var/log/containers"},
		{"with both, as one of several nodes", []string{"--root-dir=/data/node", "--config", write(t, t.TempDir(), "kubelet.yaml", "podLogsDir: /data/logs/pods\n")}, "/data/logs/containers"},
	} {
		if got := load(t, c.args...).Dirs.LogLinks(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
