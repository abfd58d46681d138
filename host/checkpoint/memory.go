package checkpoint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/dump"

	"nodal/node"
	"nodal/node/assign"
)

// MemoryManagerCheckpoint is the file of memory, in the form that all versions of upstream's kubelet read.
type MemoryManagerCheckpoint struct {
	PolicyName   string                     `json:"policyName"`
	MachineState NUMANodeMap                `json:"machineState"`
	Entries      ContainerMemoryAssignments `json:"entries,omitempty"`
	Checksum     Checksum                   `json:"checksum"`
}

// NUMANodeMap holds the memory of each NUMA node. Upstream refuses to start if that is not what it sees itself.
type NUMANodeMap map[int]*NUMANodeState

// NUMANodeState is the memory of one NUMA node.
type NUMANodeState struct {
	NumberOfAssignments int                                  `json:"numberOfAssignments"` // of blocks
	MemoryMap           map[corev1.ResourceName]*MemoryTable `json:"memoryMap"`
	Cells               []int                                `json:"cells"` // the NUMA nodes with which its memory is handed out
}

// MemoryTable counts bytes of memory, or of huge pages of one size.
type MemoryTable struct {
	TotalMemSize   uint64 `json:"total"`
	SystemReserved uint64 `json:"systemReserved"`
	Allocatable    uint64 `json:"allocatable"`
	Reserved       uint64 `json:"reserved"` // for containers
	Free           uint64 `json:"free"`
}

// Block holds how much of one resource a container has.
type Block struct {
	NUMAAffinity []int               `json:"numaAffinity"`
	Type         corev1.ResourceName `json:"type"`
	Size         uint64              `json:"size"`
}

// ContainerMemoryAssignments holds blocks by the pod's UID and the container's name.
type ContainerMemoryAssignments map[string]map[string][]Block

// encode returns the content of the file, with its checksum.
func (c MemoryManagerCheckpoint) encode() ([]byte, error) {
	c.Checksum = 0
	text := strings.NewReplacer("checkpoint.Checksum", "checksum.Checksum", "checkpoint.", "state.").Replace(dump.ForHash(&c))
	c.Checksum = sum(text)
	return json.Marshal(c)
}

// machine returns the memory of which nothing is handed out.
func machine(memory, kept assign.Memory) NUMANodeMap {
	nodes := NUMANodeMap{}
	for id, amounts := range memory {
		tables, huge := map[corev1.ResourceName]*MemoryTable{corev1.ResourceMemory: {}}, uint64(0)
		for name, amount := range amounts {
			has, reserved := uint64(amount), uint64(kept[id][name])
			tables[name] = &MemoryTable{TotalMemSize: has + reserved, SystemReserved: reserved, Allocatable: has, Free: has}
			if name != corev1.ResourceMemory {
				huge += has + reserved
			}
		}
		tables[corev1.ResourceMemory].TotalMemSize += huge
		nodes[id] = &NUMANodeState{MemoryMap: tables, Cells: []int{id}}
	}
	return nodes
}

// give hands a block out, as upstream does it: the first NUMA node has what it can of it, the next ones the rest.
func (m NUMANodeMap) give(b Block) {
	left := b.Size
	for _, id := range b.NUMAAffinity {
		m[id].NumberOfAssignments++
		m[id].Cells = b.NUMAAffinity
		table := m.table(id, b.Type)
		part := min(left, table.Free)
		table.Reserved, table.Free, left = table.Reserved+part, table.Free-part, left-part
	}
}

// take returns the parts of a block, by NUMA node. The file has only the sums of what each node has given.
func (m NUMANodeMap) take(b Block) (parts []node.Piece) {
	left := b.Size
	for i, id := range b.NUMAAffinity {
		part := left // the last one has the rest
		if table := m.table(id, b.Type); i+1 < len(b.NUMAAffinity) && table != nil {
			part = min(left, table.Reserved)
			table.Reserved -= part
		}
		left -= part
		parts = append(parts, node.Piece{Node: id, Resource: b.Type, Amount: int64(part)})
	}
	return parts
}

func (m NUMANodeMap) table(id int, resource corev1.ResourceName) *MemoryTable {
	if m[id] == nil {
		return nil
	}
	return m[id].MemoryMap[resource]
}

// refuses reports whether a block is of what is not there, or of a NUMA node whose memory is handed out together with that of
// others. Upstream does not start with such a block.
func (m NUMANodeMap) refuses(b Block) bool {
	return slices.ContainsFunc(b.NUMAAffinity, func(id int) bool {
		return m.table(id, b.Type) == nil || m[id].NumberOfAssignments > 0 && !slices.Equal(m[id].Cells, b.NUMAAffinity)
	})
}

// memory returns the content of the file of memory. Init containers come last: the node may have given them memory of other
// groups of NUMA nodes than those that last.
func (w *Writer) memory(pods []*node.Pod) MemoryManagerCheckpoint {
	c := MemoryManagerCheckpoint{PolicyName: staticMemory, MachineState: machine(w.Memory, w.Kept), Entries: ContainerMemoryAssignments{}}
	for _, start := range []bool{false, true} {
		for _, pod := range pods {
			blocks := blocksOf(pod)
			for _, name := range slices.Sorted(maps.Keys(blocks)) {
				if pod.Shares[name].Start == start {
					c.add(string(pod.UID()), name, blocks[name])
				}
			}
		}
	}
	return c
}

// add hands blocks out to a container, if there is what they are of.
func (c MemoryManagerCheckpoint) add(uid, container string, blocks []Block) {
	if len(blocks) == 0 || slices.ContainsFunc(blocks, c.MachineState.refuses) {
		return
	}
	if c.Entries[uid] == nil {
		c.Entries[uid] = map[string][]Block{}
	}
	c.Entries[uid][container] = blocks
	for _, b := range blocks {
		c.MachineState.give(b)
	}
}

// blocksOf returns what the containers of a pod have of NUMA nodes, by their names. A pod without a record has what the
// file has said of it.
func blocksOf(pod *node.Pod) map[string][]Block {
	blocks, spec := map[string][]Block{}, &pod.Object.Spec
	if len(spec.Containers) == 0 {
		for name, share := range pod.Shares {
			blocks[name] = blocksFor(share, assign.SumOf(share.Memory))
		}
	}
	var starts [][]Block
	for c := range node.Containers(spec) {
		share := pod.Shares[c.Name]
		blocks[c.Name] = blocksFor(share, assign.MemoryOf(pod.Object, c))
		reuse(starts, blocks[c.Name])
		if share.Start {
			starts = append(starts, blocks[c.Name])
		}
	}
	return blocks
}

func blocksFor(share node.Share, amounts assign.Amounts) (blocks []Block) {
	// The node has written what it reads here.
	mems, err := cpuset.Parse(share.Mems)
	if err != nil || mems.IsEmpty() {
		return nil
	}
	for _, resource := range slices.Sorted(maps.Keys(amounts)) {
		blocks = append(blocks, Block{mems.List(), resource, uint64(amounts[resource])})
	}
	return blocks
}

// reuse takes off the blocks of init containers what another container has after them, and from then on has in upstream's
// file: all blocks together are what the pod has.
func reuse(starts [][]Block, after []Block) {
	for _, block := range after {
		left := block.Size
		for _, start := range starts {
			for i := range start {
				if start[i].Type == block.Type && slices.Equal(start[i].NUMAAffinity, block.NUMAAffinity) {
					again := min(start[i].Size, left)
					start[i].Size, left = start[i].Size-again, left-again
				}
			}
		}
	}
}
