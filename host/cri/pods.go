package cri

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"nodal/node"
)

// Pods runs pods in the container runtime: it lists them, carries actions out, and reports changes.
type Pods struct {
	conn       *Conn
	health     *Health
	logs       string // the directory of pods' logs
	log        *slog.Logger
	keys       *keyIndex
	sandboxes  sandboxes
	containers containers
}

// NewPods makes the Pods of a runtime. They note in its health whether its events arrive.
func NewPods(conn *Conn, health *Health, config PodConfig, log *slog.Logger) *Pods {
	config = config.withDefaults()
	keys := newKeyIndex()
	remove := remover{conn.tasks, log}
	s := sandboxes{PodConfig: config, conn: conn, health: health, keys: keys, remover: remove}
	return &Pods{
		conn: conn, health: health, logs: config.LogsDir, log: log, keys: keys, sandboxes: s,
		containers: containers{
			PodConfig: config, conn: conn, health: health, images: NewImages(conn), keys: keys, remover: remove,
			sandboxes: s,
		},
	}
}

// Do performs one action for a pod. The package comment explains its errors.
func (p *Pods) Do(ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	begin := time.Now()
	result, err := p.do(ctx, pod, got, action)
	result.At = time.Now()
	attributes := []any{
		"pod", pod.Key().String(), "uid", pod.UID(), "action", action.String(), "took", result.At.Sub(begin), "err", err,
	}
	if about := action.About(); about.Container != "" {
		attempt, _ := about.AttemptIn(got)
		attributes = append(attributes, "container", about.Container, "attempt", attempt)
	}
	p.log.DebugContext(ctx, "did action", attributes...)
	return result, err
}

func (p *Pods) do(ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	switch a := action.(type) {
	case node.RunSandbox:
		return p.sandboxes.run(ctx, pod, a)
	case node.InspectSandbox:
		return p.sandboxes.inspect(ctx, a)
	case node.StopSandbox:
		return node.Result{}, p.sandboxes.stop(ctx, pod, a)
	case node.ResizeSandbox:
		return node.Result{}, p.sandboxes.resize(ctx, pod, a)
	case node.RemoveSandbox:
		return node.Result{}, p.sandboxes.remove(ctx, a)
	case node.CreateContainer:
		return p.containers.create(ctx, pod, got, a)
	case node.StartContainer:
		return node.Result{}, p.containers.start(ctx, a)
	case node.ResizeContainer:
		return node.Result{}, p.containers.resize(ctx, a)
	case node.InspectContainer:
		return p.containers.inspect(ctx, pod, got, a)
	case node.StopContainer:
		return node.Result{}, p.containers.stop(ctx, a)
	case node.RemoveContainer:
		return node.Result{}, p.containers.remove(ctx, a)
	}
	return node.Result{}, fmt.Errorf("%s: the runtime has no such action: %w", action, node.ErrUnsupported)
}
