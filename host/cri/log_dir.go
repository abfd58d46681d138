package cri

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

// makeLogDir makes a directory for the runtime, which makes log files but no
// directories. It goes through an os.Root because a pod may have been given
// the place to plant links in.
func makeLogDir(logs string, pod *node.Pod, container string) error {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	root, err := os.OpenRoot(logs)
	if err != nil {
		return fmt.Errorf("open log directory: %w", err)
	}
	defer root.Close()
	own := filepath.Base(spec.LogDir(logs, pod.Key(), pod.UID()))
	dir := filepath.Join(own, container)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	// A link that stays within the root is followed, to where another pod has its logs.
	for _, name := range []string{own, dir} {
		info, err := root.Lstat(name)
		if err != nil {
			return fmt.Errorf("make log directory: %w", err)
		}
		if !info.IsDir() {
			return fmt.Errorf("make log directory: %q is a symbolic link", name)
		}
	}
	return nil
}

// ReopenLog has the runtime open a container's log file anew after it was moved
// away.
func (p *Pods) ReopenLog(ctx context.Context, containerID string) error {
	ctx, cancel := p.conn.request(ctx)
	defer cancel()
	_, err := p.conn.runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: containerID})
	if err != nil {
		return explain(err, "reopen the log of container "+containerID)
	}
	return nil
}
