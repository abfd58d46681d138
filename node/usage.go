package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Usage is the consumption of a container at a moment.
type Usage struct {
	At         time.Time
	CPU        time.Duration // on processors, since its start
	Cores      float64       // on average since the figures before; negative if unknown
	Memory     uint64        // bytes, with all files that are cached for it
	WorkingSet uint64        // bytes
}

// DiskPlace is a directory with files of a pod: a volume, or the logs of a container.
type DiskPlace struct {
	Dir       string
	Volume    string // empty for logs
	Claim     string // that the volume stands for
	Container string // of the logs
	Apart     bool   // it is a file system of its own, which is measured as a whole
	Ephemeral bool   // it counts as what the pod may write to the node
	Driven    bool   // a CSI driver has it, and alone says how full it is
}

// VolumeUse tells how full a volume is, as its driver says. What the driver does not say is nil.
type VolumeUse struct {
	Capacity, Available, Used      *uint64 // in bytes
	Inodes, InodesFree, InodesUsed *uint64
}

// Written counts a pod's bytes on the node's disk.
type Written struct {
	Volumes    map[string]int64 // in emptyDirs that lie on the disk
	Containers map[string]int64 // over the files of their images, and as logs
	Effort     time.Duration    // of a processor, to count them
}

// Space counts what files take of a file system.
type Space struct{ Bytes, Inodes int64 }

// PodUse counts what a pod uses of one resource: bytes, inodes or tasks.
type PodUse struct {
	Total      int64
	Containers map[string]int64 // of it, by container where that is known
}

// EvictionCandidate is a pod that may be evicted for a resource. Used and Requested are amounts of it as Kubernetes writes
// them; Used is empty if it is not known.
type EvictionCandidate struct {
	Key             Key
	UID             types.UID
	Used, Requested string
	Priority        int32
	Why             string // what decides about its place
}

// DiskParts selects files of pods by where they lie.
type DiskParts struct {
	Files  bool // volumes and logs, which the node makes
	Layers bool // what containers write over their images
}
