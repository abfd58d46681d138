package cgroups

import (
	"maps"
	"os"

	"nodal/host/cgroup"
)

// System finds the cgroups that stats show beside those of pods.
type System struct {
	Mounts cgroup.Mounts
	Pods   *Pods      // nil if pods have no cgroups of their own
	Daemon func() int // the process of the agent's own runtime; nil if the runtime is another one
}

// Find returns the cgroups of all pods and of the node's own programs, by upstream's names. A cgroup that two
// programs share is returned once.
func (s System) Find() map[string]string {
	found := map[string]string{"kubelet": s.Mounts.Of(os.Getpid())}
	if s.Pods != nil {
		found["pods"] = s.Pods.Root()
	}
	if s.Daemon != nil {
		if path := s.Mounts.Of(s.Daemon()); path != found["kubelet"] {
			found["runtime"] = path
		}
	}
	maps.DeleteFunc(found, func(_, path string) bool { return path == "" })
	return found
}
