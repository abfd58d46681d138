package main

import (
	"context"

	"nodal/host/logs"
	"nodal/node"
)

// rotateLogs bounds the logs of running containers until the context ends.
func (a *agent) rotateLogs(ctx context.Context) error {
	l := a.cfg.Logs
	if l.MaxSize < 0 {
		return nil // upstream's way to say that somebody else rotates
	}
	logs.Rotation{
		Layout: a.files.logs, MaxSize: l.MaxSize, MaxFiles: l.MaxFiles, Every: l.Every, Workers: l.Workers, Log: a.log,
		Running: a.openLogs, Reopen: a.runtime.ReopenLog,
	}.Run(ctx)
	return nil
}

// openLogs are the logs of all containers that run.
func (a *agent) openLogs() []logs.Open {
	var open []logs.Open
	views, _ := a.state.store.Views()
	for _, view := range views {
		if view.Got == nil {
			continue
		}
		for i := range view.Got.Containers {
			c := &view.Got.Containers[i]
			if c.State != node.ContainerRunning {
				continue
			}
			open = append(open, logs.Open{
				LogRun:      node.LogRun{Key: view.Key, UID: c.UID, Container: c.Name, Attempt: c.Attempt},
				ContainerID: c.ID,
			})
		}
	}
	return open
}
