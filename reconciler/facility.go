package reconciler

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// facility has the functions that prepare one kind of thing for pods.
type facility struct {
	// setUp makes a part ready, or brings it up to date.
	setUp func(ctx context.Context, pod *node.Pod, a node.SetUp) error
	// tearDown removes all parts, and ends the processes that are left in them.
	tearDown func(ctx context.Context, pod *node.Pod) error
	// sweep does that for the pods for which keep is false. It is nil where the node makes nothing.
	sweep func(ctx context.Context, keep func(types.UID) bool) error
	// garbage lists what sweep would remove.
	garbage func(ctx context.Context, keep func(types.UID) bool) ([]node.Garbage, error)
}

// facility returns the functions of a facility.
func (a Act) facility(of node.Facility) facility {
	return [...]func(Act) facility{node.Cgroup: Act.cgroup, node.Volumes: Act.volumes, node.Logs: Act.logs}[of](a)
}

func (a Act) cgroup() facility {
	if a.Cgroups == nil {
		return facility{}
	}
	return facility{
		setUp: func(ctx context.Context, pod *node.Pod, s node.SetUp) error {
			return a.Cgroups.SetUp(ctx, pod.Allocated(), s.Part.Limits)
		},
		tearDown: func(ctx context.Context, pod *node.Pod) error { return a.Cgroups.TearDown(ctx, pod.UID()) },
		sweep:    a.Cgroups.Sweep,
		garbage:  a.Cgroups.Garbage,
	}
}

func (a Act) volumes() facility {
	return facility{
		setUp: func(ctx context.Context, pod *node.Pod, s node.SetUp) error {
			return a.Volumes.SetUp(ctx, pod, s.Name)
		},
		tearDown: func(ctx context.Context, pod *node.Pod) error { return a.Volumes.TearDown(ctx, pod.UID()) },
		sweep:    a.Volumes.Sweep,
		garbage:  a.Volumes.Garbage,
	}
}

func (a Act) logs() facility {
	return facility{
		tearDown: func(_ context.Context, pod *node.Pod) error { return a.Logs.RemovePod(pod.Key(), pod.UID()) },
		sweep:    a.Logs.Sweep,
		garbage:  a.Logs.Garbage,
	}
}
