package cgroups

import (
	"maps"
	"os"
	"path"

	"nodal/host/cgroup"
)

// System finds the cgroups that stats show beside those of pods.
type System struct {
	Mounts cgroup.Mounts
	Pods   *Pods      // nil if pods have no cgroups of their own
	Daemon func() int // the process of the agent's own runtime; nil if the runtime is another one
	Other  string     // the cgroup of another runtime; empty if it is not known
}

// Find returns the cgroups of all pods and of the node's own programs, by upstream's names. A cgroup that two
// programs share is returned once.
func (s System) Find() map[string]string {
	found := map[string]string{"kubelet": s.Mounts.Of(os.Getpid())}
	if s.Pods != nil {
		found["pods"] = s.Pods.Root()
	}
	if s.Daemon != nil {
		if own := s.Mounts.Of(s.Daemon()); own != found["kubelet"] {
			found["runtime"] = own
		}
	}
	if s.Other != "" && s.Mounts.Has(s.Other) {
		found["runtime"] = path.Clean("/" + s.Other)
	}
	maps.DeleteFunc(found, func(_, at string) bool { return at == "" })
	return found
}
