package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Require skips the test where no private runtime can run. With NODAL_REQUIRE_ROOT=1, as in the
// full test run, it fails the test instead, so that no proof goes missing unnoticed.
func Require(t testing.TB) {
	t.Helper()
	reason := missing()
	switch {
	case reason == "":
	case os.Getenv("NODAL_REQUIRE_ROOT") == "1":
		t.Fatalf("a real runtime is required here: %s", reason)
	default:
		t.Skipf("needs a real runtime: %s", reason)
	}
}

func missing() string {
	if os.Geteuid() != 0 {
		return "not root"
	}
	var lacks []string
	for _, name := range []string{"containerd", "runc", "ip", "iptables-save", "iptables-restore"} {
		if _, err := exec.LookPath(name); err != nil {
			lacks = append(lacks, name)
		}
	}
	for _, plugin := range []string{"bridge", "host-local", "loopback", "portmap"} {
		path := filepath.Join(cniBinDir, plugin)
		if _, err := os.Stat(path); err != nil {
			lacks = append(lacks, path)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("not installed: %s", strings.Join(lacks, ", "))
}
