package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/disk"
	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// preempted tells that a pod has to end for a critical one.
func (a *agent) preempted(pod *node.Pod, lack corev1.ResourceName) {
	a.state.Events.Add(node.Event{
		Key: pod.Key(), UID: pod.UID(), Time: time.Now(), Warning: true, Reason: node.Preempting, Message: node.PreemptedMessage,
	})
	a.counts.Preempted(string(lack))
}

func (a *agent) newEvictor() *reconciler.Evictor {
	return &reconciler.Evictor{
		Store: a.state.Store, Disk: written{a}, Events: a.state.Events, Log: a.log, Clock: time.Now,
		Evicted: func(over evict.Limit) { a.counts.Evicted(string(over)) },
	}
}

// written measures what pods write: volumes and logs file by file, and what the
// containers write over their images as the runtime has counted it.
type written struct{ agent *agent }

var _ reconciler.Disk = written{}

func (w written) Written(ctx context.Context, pod *node.Pod, volumes []string, containers bool) (evict.Written, error) {
	found := evict.Written{Volumes: map[string]int64{}, Containers: map[string]int64{}}
	var errs []error
	for _, name := range volumes {
		dir, err := w.agent.volumes.NodeDir(pod.Object, name)
		if err == nil {
			found.Volumes[name], err = bytesIn(ctx, dir)
		}
		errs = append(errs, err)
	}
	if containers {
		errs = append(errs, w.layers(ctx, pod, found.Containers), w.logs(ctx, pod.Object, found.Containers))
	}
	return found, errors.Join(errs...)
}

func bytesIn(ctx context.Context, dir string) (int64, error) {
	use, err := disk.Measure(ctx, dir)
	return use.Bytes, err
}

func (w written) layers(ctx context.Context, pod *node.Pod, sums map[string]int64) error {
	told, err := w.agent.runtime.PodLayers(ctx, pod.UID())
	for _, s := range told {
		sums[s.GetAttributes().GetMetadata().GetName()] += int64(s.GetWritableLayer().GetUsedBytes().GetValue())
	}
	return err
}

func (w written) logs(ctx context.Context, pod *corev1.Pod, sums map[string]int64) error {
	dir, err := w.agent.files.Logs.PodDir(node.KeyOf(pod), pod.UID)
	if err != nil {
		return err
	}
	var errs []error
	for c := range node.Containers(&pod.Spec) {
		used, err := bytesIn(ctx, filepath.Join(dir, c.Name))
		sums[c.Name] += used
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
