package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	patience       = 3 * time.Minute
	pollStarted    = 100 * time.Millisecond // the runtime stamps starts itself, and frequent calls would slow them down
	pollGone       = 5 * time.Millisecond
	benchLabel     = "bench"
	containerLabel = "io.kubernetes.container.name"
)

// truth reads the runtime's state, independent of the kubelets.
type truth struct {
	cri runtimev1.RuntimeServiceClient
}

// started waits until each pod has a running container that was created after
// since, and returns when the last of them started.
func (t truth) started(ctx context.Context, since time.Time, pods ...pod) (time.Time, error) {
	var ids []string
	err := poll(ctx, pollStarted, func() (bool, error) {
		var err error
		ids, err = t.running(ctx, since, pods)
		return len(ids) == len(pods), err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("wait for %d pods, %d have started: %w", len(pods), len(ids), err)
	}
	var last time.Time
	for _, id := range ids {
		reply, err := t.cri.ContainerStatus(ctx, &runtimev1.ContainerStatusRequest{ContainerId: id})
		if err != nil {
			return last, fmt.Errorf("ask when a container started: %w", err)
		}
		if at := time.Unix(0, reply.Status.StartedAt); at.After(last) {
			last = at
		}
	}
	return last, nil
}

// running lists the pods' running containers that were created after since.
func (t truth) running(ctx context.Context, since time.Time, pods []pod) ([]string, error) {
	state := &runtimev1.ContainerStateValue{State: runtimev1.ContainerState_CONTAINER_RUNNING}
	reply, err := t.cri.ListContainers(ctx, &runtimev1.ListContainersRequest{Filter: &runtimev1.ContainerFilter{State: state}})
	if err != nil {
		return nil, fmt.Errorf("list running containers: %w", err)
	}
	wanted := names(pods)
	var ids []string
	for _, c := range reply.Containers {
		if wanted[c.Labels[containerLabel]] && c.CreatedAt > since.UnixNano() {
			ids = append(ids, c.Id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// ended waits until no container of the pods is running.
func (t truth) ended(ctx context.Context, pods ...pod) error {
	err := poll(ctx, pollStarted, func() (bool, error) {
		ids, err := t.running(ctx, time.Time{}, pods)
		return len(ids) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for the end of %d pods: %w", len(pods), err)
	}
	return nil
}

// gone waits until the runtime has nothing of the pods.
func (t truth) gone(ctx context.Context, pods ...pod) error {
	wanted := names(pods)
	err := poll(ctx, pollGone, func() (bool, error) {
		// The runtime removes a sandbox after its containers.
		reply, err := t.cri.ListPodSandbox(ctx, &runtimev1.ListPodSandboxRequest{})
		if err != nil {
			return false, fmt.Errorf("list sandboxes: %w", err)
		}
		return !slices.ContainsFunc(reply.Items, func(s *runtimev1.PodSandbox) bool { return wanted[s.Labels[benchLabel]] }), nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d pods are gone: %w", len(pods), err)
	}
	return nil
}

// container returns the running container of a pod, and its process.
func (t truth) container(ctx context.Context, p pod) (id string, pid int, err error) {
	ids, err := t.running(ctx, time.Time{}, []pod{p})
	if err != nil {
		return "", 0, err
	}
	if len(ids) != 1 {
		return "", 0, fmt.Errorf("pod %s has %d running containers, want one", p.name, len(ids))
	}
	reply, err := t.cri.ContainerStatus(ctx, &runtimev1.ContainerStatusRequest{ContainerId: ids[0], Verbose: true})
	if err != nil {
		return "", 0, fmt.Errorf("inspect the container of pod %s: %w", p.name, err)
	}
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil {
		return "", 0, fmt.Errorf("read the process of pod %s: %w", p.name, err)
	}
	if info.Pid == 0 {
		return "", 0, fmt.Errorf("pod %s has no process", p.name)
	}
	return ids[0], info.Pid, nil
}

// poll calls done at intervals until it returns true.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
