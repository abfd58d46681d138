package files

import (
	"context"

	"nodal/agent/config"
	"nodal/host/logs"
	"nodal/node"
	"nodal/node/store"
)

// Rotate rotates the logs of running containers until the context ends. reopen has the runtime continue in a new file.
func (f Files) Rotate(
	ctx context.Context, limits config.Logs, views func() ([]store.View, int64),
	reopen func(ctx context.Context, containerID string) error,
) {
	if limits.MaxSize < 0 {
		return // as upstream has it, another program rotates
	}
	logs.Rotation{
		Layout: f.Logs, MaxSize: limits.MaxSize, MaxFiles: limits.MaxFiles, Every: limits.Every,
		Workers: limits.Workers, Log: f.log, Reopen: reopen,
		Running: func() []logs.Open {
			pods, _ := views()
			return open(pods)
		},
	}.Run(ctx)
}

// open returns the logs of the running containers.
func open(pods []store.View) []logs.Open {
	var open []logs.Open
	for _, view := range pods {
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
