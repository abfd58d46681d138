package files

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/node"
)

func TestLogsAreKeptWithinTheBudgetAlone(t *testing.T) {
	key := node.Key{Namespace: "default", Name: "web"}
	whole := config.LogBudget{Percent: 100, Bytes: math.MaxInt64}
	dirs := config.Dirs{Root: t.TempDir(), PodLogs: filepath.Join(t.TempDir(), "not", "there", "yet")}
	ours := func(types.UID) bool { return true }
	for _, c := range []struct {
		name   string
		budget config.LogBudget
		kept   int
		least  int64
	}{
		{"all of the disk", whole, 1, 1 << 20},
		{"what was kept before is still known without a budget, so that it goes", config.LogBudget{}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := In(dirs, c.budget, ours, slog.New(slog.DiscardHandler))
			budget, err := files.Budget()
			if err != nil || budget.Bytes < c.least || (budget.Bytes == 0) != c.budget.None() || (budget.Files == 0) != c.budget.None() {
				t.Errorf("got %+v, %v, want at least %d bytes", budget, err, c.least)
			}
			path, err := files.Logs.Path(node.LogRun{Key: key, UID: "web-uid", Container: "main"})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("2026-01-02T15:04:05Z stdout F hello\n"), 0o640); err != nil {
				t.Fatal(err)
			}
			if all, err := files.OfPod(key, "web-uid"); err != nil || len(all) != 1 {
				t.Errorf("the pod has %+v, %v, want one file", all, err)
			}
			if err := files.RemovePod(key, "web-uid"); err != nil {
				t.Fatal(err)
			}
			if all, err := files.Kept(); err != nil || len(all) != c.kept {
				t.Errorf("kept %+v, %v, want %d files", all, err, c.kept)
			}
		})
	}
	files := In(dirs, config.LogBudget{}, ours, slog.New(slog.DiscardHandler))
	all, err := files.Kept()
	if err != nil || len(all) != 1 {
		t.Fatalf("kept %+v, %v, want one file", all, err)
	}
	if err := files.RemoveFile(all[0]); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dirs.PodLogs); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v, want nothing", left, err)
	}
}
