package files

import (
	"context"

	"nodal/agent/config"
	"nodal/host/logs"
	"nodal/node"
	"nodal/node/store"
)

// Rotate rotates the logs of running containers until the context ends. limits returns those that hold now; without a
// limit of bytes another program rotates, as upstream has it. reopen has the runtime continue in a new file.
func (f Files) Rotate(
	ctx context.Context, limits func() config.Logs, views func() ([]store.View, int64),
	reopen func(ctx context.Context, containerID string) error,
) {
	first := limits()
	logs.Rotation{
		Layout: f.Logs, Every: first.Every, Workers: first.Workers, Log: f.log, Reopen: reopen,
		Limits: func() (int64, int) {
			now := limits()
			return now.MaxSize, now.MaxFiles
		},
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
