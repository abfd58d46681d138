package agent

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"nodal/host/cgroup"
)

func TestAKernelLogThatCannotBeReadIsAWarning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	kernel, got := hearKills(path, cgroup.Mounts{}, slog.New(slog.DiscardHandler))
	if kernel != nil || len(got) != 1 || got[0].Setting != path || got[0].Remedy == "" || !strings.Contains(got[0].Problem, "not told") {
		t.Errorf("got %+v, %+v, want one warning with its consequence and its remedy", kernel, got)
	}
}
