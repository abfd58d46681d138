package files

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/node"
)

func TestLinksToLogsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	dirs := config.Dirs{Root: filepath.Join(dir, "node"), PodLogs: filepath.Join(dir, "logs", "pods")}
	files := In(dirs, config.LogBudget{}, func(types.UID) bool { return true }, slog.New(slog.NewTextHandler(&log, nil)))
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

func TestOnlyLogsOfThisNodesPodsAreSwept(t *testing.T) {
	dirs := config.Dirs{Root: t.TempDir(), PodLogs: t.TempDir()}
	files := In(dirs, config.LogBudget{}, func(uid types.UID) bool { return uid != "their-uid" }, slog.New(slog.DiscardHandler))
	names := []string{"default_gone_gone-uid", "default_theirs_their-uid", "default_web_web-uid"}
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dirs.PodLogs, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(uid types.UID) bool { return uid == "web-uid" }
	if listed, err := files.Garbage(t.Context(), keep); err != nil || len(listed) != 1 || listed[0].Key.Name != "gone" {
		t.Errorf("listed %+v, %v, want the logs of the pod that is gone", listed, err)
	}
	if err := files.Sweep(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if _, err := os.Stat(filepath.Join(dirs.PodLogs, name)); (err == nil) != (i > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
