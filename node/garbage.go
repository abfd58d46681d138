package node

import (
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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

// RemainsError holds, by pod, why a sweep could not remove what is left of it. A sweep that fails in another way may have
// seen nothing at all.
type RemainsError map[types.UID]error

// Err returns the error, or nil if there is none.
func (e RemainsError) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (e RemainsError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors, by UID.
func (e RemainsError) Unwrap() []error {
	var all []error
	for _, uid := range slices.Sorted(maps.Keys(e)) {
		all = append(all, e[uid])
	}
	return all
}
