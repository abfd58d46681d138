package assign

import (
	"maps"
	"testing"

	"nodal/node"
)

func TestUseIsWhatPodsHold(t *testing.T) {
	r := &Rules{Topology: machine(2, 2, 4, 1), Static: true, Reserved: set(t, "0")}
	use := r.Use([]node.Shares{{"a": {CPUs: "1-2"}, "b": {CPUs: "5"}}, {"first": {CPUs: "3"}, "then": {CPUs: "3"}}})
	if use.Own != 4 || use.Free != 3 || !maps.Equal(use.Nodes, map[int]int{0: 3, 1: 1}) {
		t.Errorf("got %+v, want 4 of their own, 3 and 1 by NUMA node, and 3 free", use)
	}
	r.Static = false
	if use := r.Use([]node.Shares{{"a": {CPUs: "1"}}}); use.Own != 1 || use.Free != 0 || len(use.Nodes) != 0 {
		t.Errorf("where none are handed out: got %+v, want what was promised before", use)
	}
}

func TestARefusalSaysWhatWasLacking(t *testing.T) {
	static := Rules{Topology: machine(2, 2, 4, 2), Static: true, Reserved: set(t, "0")}
	full, placed := static, static
	full.Options.FullCores = true
	placed.Align = AlignSingleNode
	for _, c := range []struct {
		name  string
		rules Rules
		pod   []string
		want  Lack
	}{
		{"a pod that is taken", static, []string{"2"}, LackNothing},
		{"more CPUs than there are", static, []string{"99"}, LackCPUs},
		{"half a core", full, []string{"1"}, LackCPUs},
		{"no NUMA node with so many", placed, []string{"12"}, LackPlace},
		{"more memory than there is", Rules{Topology: machine(1, 1, 2, 1), Memory: Memory{0: {"memory": 1}}}, []string{"500m"}, LackMemory},
	} {
		_, refusal := c.rules.Pod(podOf(c.pod...), nil)
		if got := Lacked(refusal); got != c.want {
			t.Errorf("%s: got %d, want %d; it was refused as %v", c.name, got, c.want, refusal)
		}
	}
	if got := Lacked(&node.Refusal{Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu"}); got != LackNothing {
		t.Errorf("one that others have refused: got %d, want that nothing was lacking here", got)
	}
}
