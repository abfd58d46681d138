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

// makeLogDir makes a directory for log files: the runtime makes only the files. It goes through an os.Root because a
// pod that may write there can plant links.
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

// ReopenLog makes the runtime open a container's log file again after it was moved away.
func (p *Pods) ReopenLog(ctx context.Context, containerID string) error {
	ctx, cancel := p.conn.request(ctx)
	defer cancel()
	_, err := p.conn.runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: containerID})
	if err != nil {
		return explain(err, "reopen the log of container "+containerID)
	}
	return nil
}
