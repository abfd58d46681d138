package podnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// undoPort has the portmap plugin close all host ports of a sandbox.
func (p Places) undoPort(ctx context.Context, id string) error {
	// The plugin goes by the ID, but does nothing unless it is given a port.
	r := record{ContainerID: id, Interface: "eth0"}
	r.Arguments.PortMappings = json.RawMessage(`[{"hostPort": 1, "containerPort": 1, "protocol": "tcp"}]`)
	if err := p.askPortmap(ctx, "DEL", r); err != nil {
		return fmt.Errorf("close the host ports of sandbox %s: %w", id, err)
	}
	return nil
}

// askPortmap runs the portmap plugin, and no other, for a pod's recorded connection.
func (p Places) askPortmap(ctx context.Context, command string, r record) error {
	plugin := p.plugin("portmap")
	if plugin == "" {
		return errors.New("no portmap plugin is left")
	}
	config, err := p.portmapConfig(r)
	if err != nil {
		return err
	}
	dir := filepath.Dir(plugin)
	cmd := exec.CommandContext(ctx, plugin)
	cmd.Stdin = bytes.NewReader(config)
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(p.Programs, ":"),
		"CNI_COMMAND="+command, "CNI_CONTAINERID="+r.ContainerID, "CNI_IFNAME="+r.Interface,
		"CNI_NETNS="+r.namespace(), "CNI_PATH="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// portmapConfig is the plugin's configuration for a recorded connection.
func (p Places) portmapConfig(r record) ([]byte, error) {
	network := map[string]any{
		"cniVersion": cniVersion, "name": p.bridge(), "type": "portmap", "snat": true,
		"runtimeConfig": map[string]any{"portMappings": r.Arguments.PortMappings},
	}
	if backend := p.earlier().ports; backend != "" {
		network["backend"] = backend
	}
	if len(r.Result) > 0 {
		network["prevResult"] = r.Result
	}
	return json.Marshal(network)
}
