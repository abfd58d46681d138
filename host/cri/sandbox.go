package cri

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

func (r *Runtime) runSandbox(ctx context.Context, pod *node.Pod, a node.RunSandbox) (node.Result, error) {
	config, notices, err := r.sandboxConfig(r.config.Node(), pod, a.Attempt)
	if err != nil {
		return node.Result{}, failure(node.FailedCreateSandbox, err)
	}
	for _, n := range notices {
		r.warn(pod, n)
	}
	if err := r.checkFeatures(ctx, pod); err != nil {
		return node.Result{}, err
	}
	if err := makeLogDir(r.config.PodLogsDir, pod, ""); err != nil {
		return node.Result{}, failure(node.FailedCreateSandbox, err)
	}
	// A sandbox may cost a network and the pull of its image: twice the time.
	ctx, cancel := context.WithTimeout(ctx, 2*r.config.RequestTimeout)
	defer cancel()
	reply, err := r.runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: pod.Handler})
	if err != nil {
		err = judge(advised(err), node.FailedCreateSandbox, fmt.Sprintf("run sandbox %d", a.Attempt))
		return node.Result{}, r.orNoNetwork(ctx, pod, err)
	}
	r.keys.put(reply.GetPodSandboxId(), pod.Key())
	return node.Result{ID: reply.GetPodSandboxId()}, nil
}

// orNoNetwork explains why a sandbox could not be run or stopped: the runtime may have no network
// now. Its error looks the same for a broken network, so it is asked.
func (r *Runtime) orNoNetwork(ctx context.Context, pod *node.Pod, err error) error {
	if pod.Object.Spec.HostNetwork || errors.Is(err, node.ErrUnknown) {
		return err
	}
	status, failed := r.Status(ctx)
	if failed != nil || !status.Ready || status.NetworkReady {
		return err
	}
	return failure(node.NetworkNotReady, errors.New("network is not ready: "+status.Message))
}

// advised adds the remedy to an error about the sandbox image, which no pod names. A sandbox has
// no other image.
func advised(err error) error {
	if !strings.Contains(err.Error(), "sandbox image") && !strings.Contains(err.Error(), "failed to pull image") {
		return err
	}
	s := status.Convert(err)
	return status.Errorf(s.Code(), "%s (the runtime holds each pod open with this image: import it there, or configure one that it can get; a kubelet that brings its runtime along brings one)", s.Message())
}

func (r *Runtime) inspectSandbox(ctx context.Context, a node.InspectSandbox) (node.Result, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	sandbox, err := r.sandboxStatus(ctx, a.ID)
	if err != nil {
		return node.Result{}, judgeInspect(err, reasonInspectSandbox, "inspect sandbox "+a.ID)
	}
	return node.Result{ID: a.ID, Sandbox: sandbox}, nil
}

func (r *Runtime) sandboxStatus(ctx context.Context, id string) (*node.Sandbox, error) {
	reply, err := r.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return nil, err
	}
	s := reply.GetStatus()
	sandbox := &node.Sandbox{
		ID:        s.GetId(),
		UID:       types.UID(s.GetMetadata().GetUid()),
		Attempt:   s.GetMetadata().GetAttempt(),
		State:     sandboxState(s.GetState()),
		CreatedAt: timeOf(s.GetCreatedAt()),
		Inspected: true,
	}
	if ip := s.GetNetwork().GetIp(); ip != "" {
		sandbox.IPs = append(sandbox.IPs, ip)
	}
	for _, more := range s.GetNetwork().GetAdditionalIps() {
		sandbox.IPs = append(sandbox.IPs, more.GetIp())
	}
	return sandbox, nil
}

func (r *Runtime) stopSandbox(ctx context.Context, pod *node.Pod, a node.StopSandbox) error {
	ctx, cancel := r.request(ctx)
	defer cancel()
	_, err := r.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: a.ID})
	if err != nil && !missing(err) {
		return r.orNoNetwork(ctx, pod, judge(err, reasonStopSandbox, "stop sandbox "+a.ID))
	}
	return nil
}

func (r *Runtime) removeSandbox(ctx context.Context, a node.RemoveSandbox) error {
	ctx, cancel := r.request(ctx)
	defer cancel()
	err := r.remove(ctx, func() error {
		_, err := r.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: a.ID})
		return err
	})
	if err != nil && !missing(err) {
		return judge(err, reasonRemoveSandbox, "remove sandbox "+a.ID)
	}
	r.keys.remove(a.ID)
	return nil
}
