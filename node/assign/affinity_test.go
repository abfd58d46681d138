package assign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const gibi = 1 << 30

// nodesOf gives each of some NUMA nodes so many GiB of memory.
func nodesOf(gib ...int64) Memory {
	m := Memory{}
	for id, amount := range gib {
		m[id] = Amounts{corev1.ResourceMemory: amount * gibi}
	}
	return m
}

// places are the CPUs and the NUMA nodes of each container.
func places(shares node.Shares) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		part := name + "=" + shares[name].CPUs + "@" + shares[name].Mems
		for _, piece := range shares[name].Memory {
			part += fmt.Sprintf("[%d:%d]", piece.Node, piece.Amount/gibi)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func limited(pod *corev1.Pod, memory string) *corev1.Pod {
	for c := range node.Containers(&pod.Spec) {
		c.Resources.Limits = amounts(c.Resources.Limits.Cpu().String(), memory)
	}
	return pod
}

func heldOn(cpus, mems string, gib int64) []node.Shares {
	share := node.Share{CPUs: cpus, Mems: mems}
	if mems != "" {
		share.Memory = []node.Piece{{Node: int(mems[0] - '0'), Resource: corev1.ResourceMemory, Amount: gib * gibi}}
	}
	return []node.Shares{{"other": share}}
}

func TestAlignment(t *testing.T) {
	const refused = "TopologyAffinityError"
	one, two, four := machine(1, 1, 4, 1), machine(2, 2, 4, 1), machine(2, 4, 2, 1)
	for _, c := range []struct {
		name    string
		machine Topology
		memory  Memory
		held    []node.Shares
		pod     *corev1.Pod
		want    map[Align]string
	}{
		{"a pod without anything of its own", two, nodesOf(4, 4), nil, podBurstable(),
			map[Align]string{AlignNone: "", AlignBestEffort: "", AlignRestricted: "", AlignSingleNode: ""}},
		{"a machine with one NUMA node", one, nodesOf(4), nil, podOf("2"),
			map[Align]string{AlignNone: "app0=1-2@0[0:1]", AlignRestricted: "app0=1-2@0[0:1]", AlignSingleNode: "app0=1-2@0[0:1]"}},
		{"CPUs and memory of one", two, nodesOf(4, 4), nil, podOf("4"),
			map[Align]string{AlignNone: "app0=4-7@0[0:1]", AlignBestEffort: "app0=4-7@1[1:1]", AlignRestricted: "app0=4-7@1[1:1]", AlignSingleNode: "app0=4-7@1[1:1]"}},
		{"where the memory is", two, nodesOf(4, 4), heldOn("", "0", 4), podOf("2"),
			map[Align]string{AlignNone: "app0=1-2@1[1:1]", AlignBestEffort: "app0=4-5@1[1:1]", AlignSingleNode: "app0=4-5@1[1:1]"}},
		{"CPUs and memory are free, but not together", two, nodesOf(4, 4), heldOn("4-7", "0", 4), podOf("2"),
			map[Align]string{AlignNone: "app0=1-2@1[1:1]", AlignBestEffort: "app0=1-2@1[1:1]", AlignRestricted: refused, AlignSingleNode: refused}},
		{"CPUs that no single one has free, though it could", two, nodesOf(4, 4), heldOn("1,4", "", 0), podOf("4"),
			map[Align]string{AlignBestEffort: "app0=2,5-7@0[0:1]", AlignRestricted: refused, AlignSingleNode: refused}},
		{"what takes two is had from two", two, nodesOf(4, 4), nil, limited(podOf("5"), "6Gi"),
			map[Align]string{AlignBestEffort: "app0=1,4-7@0-1[0:4][1:2]", AlignRestricted: "app0=1,4-7@0-1[0:4][1:2]", AlignSingleNode: refused}},
		{"not more than is needed", four, nodesOf(4, 4, 4, 4), heldOn("2", "", 0), limited(podOf("2"), "2Gi"),
			map[Align]string{AlignSingleNode: "app0=4-5@2[2:2]", AlignRestricted: "app0=4-5@2[2:2]"}},
	} {
		for align, want := range c.want {
			t.Run(c.name+", "+string(align), func(t *testing.T) {
				r := &Rules{Topology: c.machine, Static: true, Reserved: set(t, "0"), Memory: c.memory, Align: align, MostNodes: 8}
				got, refusal := r.Pod(c.pod, c.held)
				switch {
				case want == refused && (refusal == nil || refusal.Reason != refused ||
					refusal.Message != "Pod was rejected: Resources cannot be allocated with Topology locality"):
					t.Errorf("got %q, %v; want it refused", places(got), refusal)
				case want != refused && (refusal != nil || places(got) != want):
					t.Errorf("got %q, %v; want %q", places(got), refusal, want)
				}
			})
		}
	}
}

func TestAlignmentOnMachinesOfAnySize(t *testing.T) {
	for nodes := 1; nodes <= 8; nodes++ {
		sockets := 1 + (nodes-1)/4
		memory := Memory{}
		for id := range nodes {
			memory[id] = Amounts{corev1.ResourceMemory: 4 * gibi}
		}
		r := &Rules{
			Topology: machine(sockets, nodes, 4, 2), Static: true, Reserved: machine(sockets, nodes, 4, 2).Reserve(2), Memory: memory,
			Align: AlignSingleNode, MostNodes: 8,
		}
		var held []node.Shares
		for n := range nodes { // each has room for one such pod, the first for a smaller one
			pod := limited(podOf("6"), "3Gi")
			shares, refusal := r.Pod(pod, held)
			if refusal != nil {
				t.Fatalf("%d NUMA nodes: pod %d is refused: %v", nodes, n, refusal)
			}
			held = append(held, shares)
			var mems []string
			for unit := range r.Topology.split(exclusive(shares), numa) {
				mems = append(mems, fmt.Sprint(unit))
			}
			if len(mems) != 1 || mems[0] != shares["app0"].Mems {
				t.Errorf("%d NUMA nodes: CPUs %s are on %v, the memory on %s", nodes, shares["app0"].CPUs, mems, shares["app0"].Mems)
			}
		}
		if shares, refusal := r.Pod(limited(podOf("6"), "3Gi"), held); refusal == nil {
			t.Errorf("%d NUMA nodes: one pod too many got %s", nodes, places(shares))
		}
	}
}

func TestWholePodsLieTogether(t *testing.T) {
	r := &Rules{Topology: machine(2, 2, 4, 1), Static: true, Reserved: set(t, "0"), Align: AlignSingleNode, MostNodes: 8}
	if got, refusal := r.Pod(podOf("3", "2"), nil); refusal != nil || text(got) != "app0=1-3 app1=4-5" {
		t.Errorf("each for itself: got %q, %v", text(got), refusal)
	}
	r.WholePods = true
	if got, refusal := r.Pod(podOf("2", "2"), nil); refusal != nil || text(got) != "app0=4-5 app1=6-7" {
		t.Errorf("together: got %q, %v", text(got), refusal)
	}
	if got, refusal := r.Pod(podOf("init:3", "sidecar:1", "3"), nil); refusal != nil || text(got) != "app2=5-7 init0=4-6 sidecar1=4" {
		t.Errorf("what is used again counts once: got %q, %v", text(got), refusal)
	}
	if got, refusal := r.Pod(podOf("3", "2"), nil); refusal == nil {
		t.Errorf("too much for one: got %q, want it refused", text(got))
	}
}

func TestSocketsAreAsGoodAsOneOfTheirNUMANodes(t *testing.T) {
	r := &Rules{Topology: machine(2, 4, 2, 1), Static: true, Reserved: set(t, "0"), Align: AlignRestricted, MostNodes: 8}
	held := []node.Shares{{"other": {CPUs: "1,2,4,6"}}}
	if got, refusal := r.Pod(podOf("2"), held); refusal == nil {
		t.Errorf("no NUMA node has two: got %q, want it refused", text(got))
	}
	r.Options.AlignSocket = true
	if got, refusal := r.Pod(podOf("2"), held); refusal != nil || text(got) != "app0=5,7" {
		t.Errorf("one socket has two: got %q, %v", text(got), refusal)
	}
}

func TestOfSetsOfTheSameSizeTheClosestIsTaken(t *testing.T) {
	far := Distances{0: {0: 10, 1: 21, 2: 12, 3: 31}, 1: {0: 21, 1: 10, 2: 31, 3: 12}, 2: {0: 12, 1: 31, 2: 10, 3: 21}, 3: {0: 31, 1: 12, 2: 21, 3: 10}}
	for _, c := range []struct {
		name      string
		distances Distances
		held      []node.Shares
		want      string
	}{
		{"the first where distances do not matter", nil, nil, "app0=2-5"},
		{"the closest where they do", far, nil, "app0=2-3,6-7"},
		{"the closest that is free", far, heldOn("6", "", 0), "app0=2-5"},
	} {
		r := &Rules{
			Topology: machine(2, 4, 2, 1), Static: true, Reserved: set(t, "0"), Align: AlignRestricted, MostNodes: 8, Distances: c.distances,
		}
		if got, refusal := r.Pod(podOf("4"), c.held); refusal != nil || text(got) != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, text(got), refusal, c.want)
		}
	}
}

func TestMemoryOfChosenNUMANodes(t *testing.T) {
	for _, c := range []struct {
		name string
		held []node.Shares
		pod  *corev1.Pod
		want string
	}{
		{"of one", nil, limited(podOf("500m"), "3Gi"), "app0=@0[0:3]"},
		{"of another", heldOn("", "0", 3), limited(podOf("500m"), "3Gi"), "app0=@1[1:3]"},
		{"of two", nil, limited(podOf("500m"), "6Gi"), "app0=@0-1[0:4][1:2]"},
		{"of those that are not tied to others", []node.Shares{{"other": {Mems: "0-1"}}}, limited(podOf("500m"), "1Gi"), "app0=@2[2:1]"},
		{"what was for the start is used again", nil, limited(podOf("init:500m", "500m"), "3Gi"), "app1=@0[0:0] init0=@0[0:3]"},
		{"what was for the start ties none together", []node.Shares{{
			"app": {Mems: "1", Memory: []node.Piece{{Node: 1, Resource: corev1.ResourceMemory, Amount: 3 * gibi}}}, "init": {Mems: "0-1", Start: true},
		}}, limited(podOf("500m"), "8Gi"), "app0=@0,2[0:4][2:4]"},
		{"more than there is", nil, limited(podOf("500m"), "20Gi"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Rules{Topology: machine(1, 3, 2, 1), Memory: nodesOf(4, 4, 4)}
			got, refusal := r.Pod(c.pod, c.held)
			switch {
			case c.want == "" && (refusal == nil || !strings.Contains(refusal.Message, "no NUMA nodes with enough memory is available")):
				t.Errorf("got %q, %v; want it refused", places(got), refusal)
			case c.want != "" && (refusal != nil || places(got) != strings.ReplaceAll(c.want, "[0:0]", "")):
				t.Errorf("got %q, %v; want %q", places(got), refusal, c.want)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	for _, c := range []struct {
		name      string
		kept      Memory
		ofMachine int64
		want      string // a part of the error
	}{
		{"as much as of the machine", nodesOf(1, 2), 3 * gibi, ""},
		{"less than of the machine", nodesOf(1), 3 * gibi, "both have to be equal"},
		{"more than there is", nodesOf(5), 5 * gibi, "more than the 4294967296 that NUMA node 0 has"},
		{"of one that is not there", Memory{7: {corev1.ResourceMemory: 1}}, 1, "NUMA node 7"},
	} {
		m := nodesOf(4, 4)
		err := m.Keep(c.kept, c.ofMachine)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMachinesWithTooManyNUMANodesAreRefused(t *testing.T) {
	r := &Rules{Topology: machine(1, 9, 1, 1), Align: AlignBestEffort, MostNodes: 8}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "9 NUMA nodes") {
		t.Errorf("got %v, want an error", err)
	}
}
