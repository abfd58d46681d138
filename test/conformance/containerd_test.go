package conformance_test

import (
	"testing"

	"nodal/test/conformance"
	"nodal/test/rig"
)

// runOn returns a script that sets a trap, prints "ready", and runs on. A shell handles traps only
// between commands, so the sleeps are short.
func runOn(trap string) []string {
	return []string{"sh", "-c", "trap '" + trap + "' TERM; echo ready; while :; do sleep 0.1; done"}
}

func TestContainerd(t *testing.T) {
	rt := rig.Containerd(t)
	conformance.Run(t, conformance.Runtime{
		Conn:         rt.Conn(),
		Image:        rt.Image("busybox"),
		LogDir:       t.TempDir(),
		CgroupParent: rt.CgroupParent,
		Programs: conformance.Programs{
			Run:        runOn("exit 143"),
			SlowTerm:   runOn("sleep 0.5; exit 143"),
			IgnoreTerm: runOn(""),
			Exit3:      []string{"sh", "-c", "exit 3"},
			Hello:      []string{"sh", "-c", "echo hello; echo oops >&2"},
			Missing:    []string{"/no-such-program"},
		},
	})
}
