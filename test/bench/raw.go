package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

const grace = 2 // seconds, as in the manifests

// raw makes only the calls that a kubelet has to make, one after the other for each pod.
type raw struct {
	cri    runtimev1.RuntimeServiceClient
	images imageIDs
	dirs   rawDirs
	bound  int        // pods side by side; zero: all at once
	calls  *callTimes // nil records none

	mu   sync.Mutex
	pods map[string]*rawPod
}

var _ kubelet = (*raw)(nil)

// rawPod is raw's memory of a pod, so that it need not read the state back.
type rawPod struct {
	config    *runtimev1.PodSandboxConfig
	sandbox   string
	container string
	attempt   uint32
}

func newRaw(t testing.TB, opts ...rig.Option) *column {
	rt := rig.Containerd(t, opts...)
	r := &raw{
		cri: rt.CRI(), images: imageIDs{client: rt.Images()}, pods: map[string]*rawPod{},
		dirs: rawDirs{logs: rt.Dir + "/pods", cgroup: rt.CgroupParent},
	}
	return &column{name: rawColumn, rt: rt, truth: truth{rt.CRI()}, kubelet: r}
}

func (r *raw) Post(ctx context.Context, pods ...pod) error {
	return r.sideBySide(ctx, pods, r.post)
}

func (r *raw) Delete(ctx context.Context, pods ...pod) error {
	return r.sideBySide(ctx, pods, r.remove)
}

func (r *raw) sideBySide(ctx context.Context, pods []pod, do func(context.Context, pod) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if r.bound > 0 {
		group.SetLimit(r.bound)
	}
	for _, p := range pods {
		group.Go(func() error { return do(ctx, p) })
	}
	return group.Wait()
}

func (r *raw) post(ctx context.Context, p pod) error {
	image, err := r.images.id(ctx, p.image)
	if err != nil {
		return err
	}
	state := &rawPod{config: r.dirs.sandboxConfig(p)}
	done := r.calls.begin("RunPodSandbox")
	reply, err := r.cri.RunPodSandbox(ctx, &runtimev1.RunPodSandboxRequest{Config: state.config})
	done()
	if err != nil {
		return fmt.Errorf("run the sandbox of pod %s: %w", p.name, err)
	}
	state.sandbox = reply.PodSandboxId
	r.mu.Lock()
	r.pods[p.name] = state
	r.mu.Unlock()
	for i := range p.inits {
		if err := r.runInit(ctx, state, initConfig(p, image, initName(i))); err != nil {
			return err
		}
	}
	return r.startContainer(ctx, state, p, image)
}

func (r *raw) startContainer(ctx context.Context, state *rawPod, p pod, image string) error {
	id, err := r.launch(ctx, state, containerConfig(p, image, state.attempt))
	state.container = id
	return err
}

// launch creates a container and starts it.
func (r *raw) launch(ctx context.Context, state *rawPod, config *runtimev1.ContainerConfig) (string, error) {
	done := r.calls.begin("CreateContainer")
	created, err := r.cri.CreateContainer(ctx, &runtimev1.CreateContainerRequest{
		PodSandboxId: state.sandbox, SandboxConfig: state.config, Config: config,
	})
	done()
	if err != nil {
		return "", fmt.Errorf("create container %s: %w", config.Metadata.Name, err)
	}
	defer r.calls.begin("StartContainer")()
	if _, err := r.cri.StartContainer(ctx, &runtimev1.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return "", fmt.Errorf("start container %s: %w", config.Metadata.Name, err)
	}
	return created.ContainerId, nil
}

func (r *raw) runInit(ctx context.Context, state *rawPod, config *runtimev1.ContainerConfig) error {
	id, err := r.launch(ctx, state, config)
	if err != nil {
		return err
	}
	return poll(ctx, 2*time.Millisecond, func() (bool, error) {
		reply, err := r.cri.ContainerStatus(ctx, &runtimev1.ContainerStatusRequest{ContainerId: id})
		if err != nil {
			return false, fmt.Errorf("wait for the init container: %w", err)
		}
		return reply.Status.State == runtimev1.ContainerState_CONTAINER_EXITED, nil
	})
}

func (r *raw) state(name string) (*rawPod, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, ok := r.pods[name]
	if !ok {
		return nil, fmt.Errorf("there is no pod %s", name)
	}
	return state, nil
}

// Killed starts the next container; raw knows that the one before is dead.
func (r *raw) Killed(ctx context.Context, p pod) error {
	state, err := r.state(p.name)
	if err != nil {
		return err
	}
	image, err := r.images.id(ctx, p.image)
	if err != nil {
		return err
	}
	state.attempt++
	return r.startContainer(ctx, state, p, image)
}

func (r *raw) Edit(ctx context.Context, p pod) error {
	state, err := r.state(p.name)
	if err != nil {
		return err
	}
	if err := r.stop(ctx, state.container); err != nil {
		return err
	}
	return r.Killed(ctx, p)
}

// stop stops a container. Like every kubelet it tries again: containerd fails if the shim ends at that moment.
func (r *raw) stop(ctx context.Context, container string) (err error) {
	defer r.calls.begin("StopContainer")()
	for range 2 {
		if _, err = r.cri.StopContainer(ctx, &runtimev1.StopContainerRequest{ContainerId: container, Timeout: grace}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("stop container %s: %w", container, err)
}

// remove removes a pod. Like every kubelet it does nothing for a pod that is gone.
func (r *raw) remove(ctx context.Context, p pod) error {
	state, err := r.state(p.name)
	if err != nil {
		return nil
	}
	if err := r.stop(ctx, state.container); err != nil {
		return err
	}
	done := r.calls.begin("StopPodSandbox")
	_, err = r.cri.StopPodSandbox(ctx, &runtimev1.StopPodSandboxRequest{PodSandboxId: state.sandbox})
	done()
	if err != nil {
		return fmt.Errorf("stop the sandbox of pod %s: %w", p.name, err)
	}
	done = r.calls.begin("RemovePodSandbox")
	_, err = r.cri.RemovePodSandbox(ctx, &runtimev1.RemovePodSandboxRequest{PodSandboxId: state.sandbox})
	done()
	if err != nil {
		return fmt.Errorf("remove the sandbox of pod %s: %w", p.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, p.name)
	return nil
}
