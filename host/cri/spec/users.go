package spec

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/users"
)

// userNamespace returns the namespace of a pod with users of its own. It is nil for a pod with the host's users.
func userNamespace(r *users.Range) *runtimeapi.UserNamespace {
	if r == nil {
		return nil
	}
	mapping := mappingOf(r)
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: mapping, Gids: mapping}
}

// mapped adds to mounts that a user's files on the disk belong to the pod's user of that number. So files are the same
// for every pod, whatever its users are.
func mapped(mounts []*runtimeapi.Mount, r *users.Range) []*runtimeapi.Mount {
	if r == nil {
		return mounts
	}
	for _, m := range mounts {
		m.UidMappings, m.GidMappings = mappingOf(r), mappingOf(r)
	}
	return mounts
}

// mappingOf begins with root: runtimes take no pod without one.
func mappingOf(r *users.Range) []*runtimeapi.IDMapping {
	return []*runtimeapi.IDMapping{{HostId: r.First, ContainerId: 0, Length: r.Count}}
}
