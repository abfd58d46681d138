package agent

import (
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheAgentLeavesNoCoreDumpAndItsProgramsMay(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before), 0, 0, 0)
	limits := func() string {
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/self/limits").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	inherited := limits()
	forbidCoreDumps(slog.New(slog.DiscardHandler))
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != 0 {
		t.Errorf("the process is dumpable: %d (%v), want 0", now, err)
	}
	if after := limits(); after != inherited || !strings.Contains(after, "Max core file size") {
		t.Errorf("programs get\n%s\nwant\n%s", after, inherited)
	}
}
