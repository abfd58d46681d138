package main

import (
	"context"
	"log/slog"

	"nodal/host/logs"
	"nodal/node"
)

// logLinks keeps the links by which log collectors find containers' logs.
type logLinks struct {
	layout logs.Layout
	log    *slog.Logger
}

// made links the log of a run that has begun. Every run is inspected until that
// succeeds, by an agent that comes back too, so that no link stays missing.
func (l logLinks) made(key node.Key, run *node.Container) {
	begun := run.State == node.ContainerRunning || run.State == node.ContainerExited
	if !begun || run.LogPath == "" {
		return
	}
	pod := logs.Pod{Namespace: key.Namespace, Name: key.Name, UID: string(run.UID)}
	if err := l.layout.Link(pod, run.Name, run.ID, run.LogPath); err != nil {
		l.log.Warn("log collectors will not find a log", "pod", key.String(), "container", run.Name, "err", err)
	}
}

// remove takes the links of runs away that are about to be removed. Before, not
// after: once they are gone nobody knows their names.
func (l logLinks) remove(key node.Key, got *node.Observed, action node.Action) {
	switch a := action.(type) {
	case node.RemoveContainer:
		l.unlink(key, a.Container, a.ID)
	case node.RemoveSandbox:
		if got == nil {
			return
		}
		for i := range got.Containers {
			if c := &got.Containers[i]; c.SandboxID == a.ID {
				l.unlink(key, c.Name, c.ID)
			}
		}
	}
}

func (l logLinks) unlink(key node.Key, container, id string) {
	if err := l.layout.Unlink(logs.Pod{Namespace: key.Namespace, Name: key.Name}, container, id); err != nil {
		l.log.Warn("a link to a log is left behind", "pod", key.String(), "container", container, "err", err)
	}
}

// Do keeps the links in step with the runs.
func (r *runtime) Do(ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action) (node.Result, error) {
	r.links.remove(pod.Key(), got, a)
	result, err := r.Runtime.Do(ctx, pod, got, a)
	if err == nil && result.Container != nil {
		r.links.made(pod.Key(), result.Container)
	}
	return result, err
}
