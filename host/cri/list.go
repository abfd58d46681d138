package cri

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/host/cri/spec"
	"nodal/node"
)

// List observes one key, or all of them, with two calls. A key that is asked for is in the result even if nothing of it
// is there. Containers that no kubelet has made are left out. The caller sets Mark.
func (p *Pods) List(ctx context.Context, only *node.Key) (map[node.Key]*node.Observed, error) {
	ctx, cancel := p.conn.request(ctx)
	defer cancel()
	labels := spec.Selector(only)
	sandboxes, err := p.conn.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: labels},
	})
	if err != nil {
		return nil, explain(err, "list sandboxes")
	}
	containers, err := p.conn.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: labels},
	})
	if err != nil {
		return nil, explain(err, "list containers")
	}
	found := observed(p.logs, sandboxes.GetItems(), containers.GetContainers())
	if only == nil {
		p.keys.replace(found)
	} else {
		if found[*only] == nil {
			found[*only] = &node.Observed{}
		}
		p.keys.add(*only, found[*only])
	}
	return found, nil
}

// observed groups sandboxes and containers by key, the newest first.
func observed(
	logs string, sandboxes []*runtimeapi.PodSandbox, containers []*runtimeapi.Container,
) map[node.Key]*node.Observed {
	found := map[node.Key]*node.Observed{}
	at := func(key node.Key) *node.Observed {
		if found[key] == nil {
			found[key] = &node.Observed{}
		}
		return found[key]
	}
	slices.SortFunc(sandboxes, func(a, b *runtimeapi.PodSandbox) int {
		return newestFirst(a.GetMetadata().GetAttempt(), b.GetMetadata().GetAttempt(), a.GetCreatedAt(), b.GetCreatedAt())
	})
	slices.SortFunc(containers, func(a, b *runtimeapi.Container) int {
		return newestFirst(a.GetMetadata().GetAttempt(), b.GetMetadata().GetAttempt(), a.GetCreatedAt(), b.GetCreatedAt())
	})
	for _, s := range sandboxes {
		if key, ok := spec.KeyOf(s.GetLabels()); ok {
			o := at(key)
			o.Sandboxes = append(o.Sandboxes, listedSandbox(s))
		}
	}
	for _, c := range containers {
		if key, ok := spec.KeyOf(c.GetLabels()); ok {
			o := at(key)
			listed := listedContainer(c)
			dir := spec.LogDir(logs, key, listed.UID)
			listed.LogPath = filepath.Join(dir, spec.LogPath(listed.Name, listed.Attempt))
			o.Containers = append(o.Containers, listed)
		}
	}
	return found
}

// newestFirst compares the attempts of two sandboxes or containers, and then the times of their creation.
func newestFirst(attempt, other uint32, created, otherCreated int64) int {
	return cmp.Or(cmp.Compare(other, attempt), cmp.Compare(otherCreated, created))
}

func listedSandbox(s *runtimeapi.PodSandbox) node.Sandbox {
	return node.Sandbox{
		ID:        s.GetId(),
		UID:       types.UID(s.GetLabels()[kubelettypes.KubernetesPodUIDLabel]),
		Attempt:   s.GetMetadata().GetAttempt(),
		State:     sandboxState(s.GetState()),
		CreatedAt: timeOf(s.GetCreatedAt()),
	}
}

func listedContainer(c *runtimeapi.Container) node.Container {
	return node.Container{
		ID:        c.GetId(),
		SandboxID: c.GetPodSandboxId(),
		UID:       types.UID(c.GetLabels()[kubelettypes.KubernetesPodUIDLabel]),
		Name:      c.GetLabels()[kubelettypes.KubernetesContainerNameLabel],
		Attempt:   c.GetMetadata().GetAttempt(),
		State:     containerState(c.GetState()),
		Hash:      spec.HashOf(c.GetAnnotations()),
		Image:     cmp.Or(c.GetImage().GetUserSpecifiedImage(), c.GetImage().GetImage()),
		ImageID:   cmp.Or(c.GetImageId(), c.GetImageRef()),
		CreatedAt: timeOf(c.GetCreatedAt()),
		Grace:     spec.GraceOf(c.GetAnnotations()),
		Hooked:    spec.HookedOf(c.GetAnnotations()),
	}
}

func sandboxState(s runtimeapi.PodSandboxState) node.SandboxState {
	if s == runtimeapi.PodSandboxState_SANDBOX_READY {
		return node.SandboxReady
	}
	return node.SandboxNotReady
}

func containerState(s runtimeapi.ContainerState) node.ContainerState {
	switch s {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return node.ContainerCreated
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		return node.ContainerRunning
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return node.ContainerExited
	}
	return node.ContainerUnknown
}

// timeOf reads CRI's nanoseconds, in which zero or less means never.
func timeOf(nanos int64) time.Time {
	if nanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
