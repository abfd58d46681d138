package files

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/agent/config"
	"nodal/node"
)

func TestLinksToLogsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	dirs := config.Dirs{Root: filepath.Join(dir, "node"), PodLogs: filepath.Join(dir, "logs", "pods")}
	files := In(dirs, slog.New(slog.NewTextHandler(&log, nil)))
	key := node.Key{Namespace: "default", Name: "web"}
	link := filepath.Join(dirs.LogLinks(), "web_default_main-c1.log")

	files.Link(key, &node.Container{ID: "c1", Name: "main", LogPath: "/logs/0.log"})
	if got, err := os.Readlink(link); err != nil || got != "/logs/0.log" {
		t.Errorf("the link leads to %q (%v), want /logs/0.log", got, err)
	}
	for range 2 { // the second time there is nothing to do
		files.Unlink(key, "main", "c1")
	}
	if _, err := os.Lstat(link); err == nil {
		t.Error("the link is still there")
	}
	if log.Len() > 0 {
		t.Errorf("logged is %s, want nothing", &log)
	}
	files.Link(key, &node.Container{ID: "../c1", Name: "main", LogPath: "/logs/0.log"})
	if !strings.Contains(log.String(), "pod=default/web") {
		t.Errorf("logged is %s, want the pod whose log is not linked", &log)
	}
}
