package history

import (
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Series names what figures are about: a pod under its limits, or the node, which has neither a UID nor a key, and whose
// limit is the memory of the machine.
type Series struct {
	UID         types.UID
	Key         node.Key
	MemoryLimit uint64 // bytes; zero means none
	CPULimit    uint64 // thousandths of a core; zero means none
}

// UnknownCPU is the CPU of a series that was not measured before.
const UnknownCPU = -1

// Figures hold what was used.
type Figures struct {
	CPU   int64  // ten-thousandths of a core, on average since the sample before; or UnknownCPU
	Pages uint64 // of 4 KiB: memory without inactive page cache
	Tasks uint64 // processes and threads
}

// pageSize is the unit of memory in records, whatever the machine's pages are.
const pageSize = 4096

// Pages returns how many pages hold so many bytes.
func Pages(bytes uint64) uint64 { return bytes/pageSize + min(1, bytes%pageSize) }

// Bytes returns the size of the pages.
func (f Figures) Bytes() uint64 { return f.Pages * pageSize }

// Cores returns the CPU in cores; false means unknown.
func (f Figures) Cores() (float64, bool) { return float64(f.CPU) / 1e4, f.CPU >= 0 }

// Entry holds the figures of one series in a sample.
type Entry struct {
	*Series
	Figures
}

// Sample holds the figures of one moment. Series that go on have the same order in each sample, and those that begin
// follow them.
type Sample struct {
	At int64 // seconds since 1970
	Of []Entry
}

// same reports whether two entries are about the same series. It compares the pointers first: they stay the same for as
// long as a series goes on.
func same(a, b *Series) bool { return a == b || *a == *b }
