package action_test

import (
	"bytes"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/test/conformance/action"
	"nodal/test/rig"
)

func TestAdapterOnContainerd(t *testing.T) {
	rt := rig.Containerd(t)
	config := configOf(t)
	config.CgroupParent = func(*corev1.Pod) string { return rt.CgroupParent }
	// A shell handles traps only between commands, so the sleeps are short.
	loop := "while :; do sleep 0.1; done"
	tested := runtimeOf(rt.Conn(), config, rt.Image("busybox"), map[action.Program][]string{
		action.Forever:    {"sh", "-c", "trap 'exit 143' TERM; echo ready; " + loop},
		action.IgnoreTerm: {"sh", "-c", "trap '' TERM; " + loop},
		action.Fails:      {"sh", "-c", "sleep 0.3; exit 1"},
		action.Missing:    {"/no-such-program"},
	})
	tested.Ready = func(run node.Container) bool {
		log, err := os.ReadFile(run.LogPath)
		return err == nil && bytes.Contains(log, []byte("ready"))
	}
	action.Run(t, tested)
}
