package admit

import (
	"testing"

	"nodal/node"
)

func TestAMachineThatShutsDownTakesNoPod(t *testing.T) {
	for _, pod := range []*node.Pod{
		{Object: pod("a"), Source: node.SourceAPI}, {Object: pod("vital", class("system-node-critical")), Source: node.SourceFile},
	} {
		got := Present{Down: true}.Check(pod)
		if got == nil || got.Reason != "NodeShutdown" || got.Message != "Pod was rejected: Pod was rejected as the node is shutting down." {
			t.Errorf("%s: got %v, want it refused as NodeShutdown", pod.Key(), got)
		}
	}
}
