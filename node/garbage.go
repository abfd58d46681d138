package node

import "time"

// GarbageKind says what a piece of garbage is.
type GarbageKind string

const (
	GarbageContainer GarbageKind = "container" // a run that has ended
	GarbageSandbox   GarbageKind = "sandbox"
	GarbageImage     GarbageKind = "image"
	GarbageCgroup    GarbageKind = "cgroup"
	GarbageFiles     GarbageKind = "files"   // the directory of a pod, with its volumes and mounts
	GarbageLogs      GarbageKind = "logs"    // the directory of a pod's logs
	GarbageAddress   GarbageKind = "address" // of a pod on the network of the node's own runtime
)

// Garbage is one thing of this node on the machine that has no use any more. It goes at its time, or is kept for a
// reason.
type Garbage struct {
	Kind      GarbageKind
	Name      string // its path, id or reference
	Key       Key    // of the pod that it belonged to; zero if it is not known
	Container string
	Bytes     int64     // on the disk; zero if it is not known
	Why       string    // nothing needs it
	Goes      time.Time // when it will be removed; zero if no time is known
	Kept      string    // why it stays for now; empty if it goes with the next round
}
