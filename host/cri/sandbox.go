package cri

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

// sandboxes makes and ends the sandboxes of pods.
type sandboxes struct {
	PodConfig
	conn    *Conn
	health  *Health
	keys    *keyIndex
	remover remover
}

func (s sandboxes) run(ctx context.Context, pod *node.Pod, a node.RunSandbox) (node.Result, error) {
	config, notices, err := s.config(s.Node(), pod, a.Attempt)
	if err != nil {
		return node.Result{}, failure(node.FailedCreateSandbox, err)
	}
	for _, n := range notices {
		s.warn(pod, n)
	}
	if err := s.checkFeatures(ctx, pod); err != nil {
		return node.Result{}, err
	}
	if err := makeLogDir(s.LogsDir, pod, ""); err != nil {
		return node.Result{}, failure(node.FailedCreateSandbox, err)
	}
	// A sandbox may cost a network and the pull of its image: twice the time.
	ctx, cancel := context.WithTimeout(ctx, 2*s.conn.timeout)
	defer cancel()
	made := func() {}
	if !pod.Object.Spec.HostNetwork { // which has no part in the network of pods
		made = s.Making()
	}
	reply, err := s.conn.runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{
		Config: config, RuntimeHandler: pod.Handler,
	})
	made()
	if err != nil {
		err = judge(advised(err), node.FailedCreateSandbox, fmt.Sprintf("run sandbox %d", a.Attempt))
		return node.Result{}, s.orNoNetwork(ctx, pod, err)
	}
	s.keys.put(reply.GetPodSandboxId(), pod.Key())
	return node.Result{ID: reply.GetPodSandboxId()}, nil
}

// config translates a sandbox. It reads the host's resolv.conf each time: the file changes with the networks that the
// machine joins.
func (s sandboxes) config(
	here spec.Node, pod *node.Pod, attempt uint32,
) (*runtimeapi.PodSandboxConfig, []spec.Notice, error) {
	sandbox := spec.Sandbox{
		Pod: pod, Attempt: attempt, Logs: s.LogsDir, CgroupParent: s.CgroupParent(pod.Object),
	}
	if path := s.ResolvConf; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read the host's DNS configuration: %w", err)
		}
		sandbox.HostDNS = spec.ParseResolvConf(string(text))
	}
	return here.Sandbox(sandbox)
}

// orNoNetwork replaces the error of a sandbox that could not be run or stopped if the runtime has no network now. The
// runtime's error does not show that, so orNoNetwork asks for its status.
func (s sandboxes) orNoNetwork(ctx context.Context, pod *node.Pod, err error) error {
	if pod.Object.Spec.HostNetwork || errors.Is(err, node.ErrUnknown) {
		return err
	}
	status, failed := s.health.Status(ctx)
	if failed != nil || !status.Ready || status.NetworkReady {
		return err
	}
	return failure(node.NetworkNotReady, errors.New("network is not ready: "+status.Message))
}

// advised adds the remedy to an error about the sandbox image: no pod names that image.
func advised(err error) error {
	if !strings.Contains(err.Error(), "sandbox image") && !strings.Contains(err.Error(), "failed to pull image") {
		return err
	}
	s := status.Convert(err)
	return status.Errorf(s.Code(), "%s (the runtime needs this image for each pod: import it there, or configure one "+
		"that it can pull; a kubelet that brings its runtime along brings the image too)", s.Message())
}

func (s sandboxes) inspect(ctx context.Context, a node.InspectSandbox) (node.Result, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	sandbox, err := s.status(ctx, a.ID)
	if err != nil {
		return node.Result{}, judgeInspect(err, reasonInspectSandbox, "inspect sandbox "+a.ID)
	}
	return node.Result{ID: a.ID, Sandbox: sandbox}, nil
}

// status asks for a sandbox, and connects one that is ready. No container is made before that: it needs the addresses.
func (s sandboxes) status(ctx context.Context, id string) (*node.Sandbox, error) {
	reply, err := s.conn.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return nil, err
	}
	found := reply.GetStatus()
	sandbox := &node.Sandbox{
		ID:        found.GetId(),
		UID:       types.UID(found.GetMetadata().GetUid()),
		Attempt:   found.GetMetadata().GetAttempt(),
		State:     sandboxState(found.GetState()),
		CreatedAt: timeOf(found.GetCreatedAt()),
		Inspected: true,
	}
	if ip := found.GetNetwork().GetIp(); ip != "" {
		sandbox.IPs = append(sandbox.IPs, ip)
	}
	for _, more := range found.GetNetwork().GetAdditionalIps() {
		sandbox.IPs = append(sandbox.IPs, more.GetIp())
	}
	if s.Connect != nil && sandbox.State == node.SandboxReady {
		if err := s.Connect(id); err != nil {
			return nil, err
		}
	}
	return sandbox, nil
}

func (s sandboxes) stop(ctx context.Context, pod *node.Pod, a node.StopSandbox) error {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	_, err := s.conn.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: a.ID})
	if err != nil && !missing(err) {
		return s.orNoNetwork(ctx, pod, judge(err, reasonStopSandbox, "stop sandbox "+a.ID))
	}
	return nil
}

func (s sandboxes) remove(ctx context.Context, a node.RemoveSandbox) error {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	err := s.remover.through(ctx, func() error {
		_, err := s.conn.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: a.ID})
		return err
	})
	if err != nil && !missing(err) {
		return judge(err, reasonRemoveSandbox, "remove sandbox "+a.ID)
	}
	s.keys.remove(a.ID)
	return nil
}
