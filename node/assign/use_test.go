package assign

import (
	"maps"
	"testing"

	"nodal/node"
)

func TestUseCountsExclusiveCPUs(t *testing.T) {
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
