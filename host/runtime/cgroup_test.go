package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProcessesOfCgroupsAreThoseThatCanBeKilled(t *testing.T) {
	group := t.TempDir()
	below := filepath.Join(group, "pod")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, text := range map[string]string{group: "0\n1\n4242\n", below: "0\n4343\n"} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := cgroupProcesses([]string{group}), []int{4242, 4343}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: to kill 0 is to kill oneself, and 1 is nobody's container", got, want)
	}
}
