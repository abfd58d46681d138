package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// openPorts has portmap open the pod's host ports.
func openPorts(s *settings, result *current.Result) error {
	config, err := portmapConfig(s, result)
	if err != nil {
		return err
	}
	if _, err := invoke.DelegateAdd(context.Background(), "portmap", config, bound()); err != nil {
		return fmt.Errorf("open the pod's host ports: %w", err)
	}
	return nil
}

func closePorts(s *settings) error {
	config, err := portmapConfig(s, nil)
	if err != nil {
		return err
	}
	if err := invoke.DelegateDel(context.Background(), "portmap", config, bound()); err != nil {
		return fmt.Errorf("close the pod's host ports: %w", err)
	}
	return nil
}

// tied runs a plugin that is killed when this program is: a caller that has given
// up removes what there is, and nothing may be added behind it.
type tied struct{ *invoke.DefaultExec }

func bound() invoke.Exec {
	return tied{&invoke.DefaultExec{RawExec: &invoke.RawExec{}}}
}

func (tied) ExecPlugin(ctx context.Context, path string, config []byte, environment []string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, bytes.NewReader(config), &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	fault := &types.Error{}
	if json.Unmarshal(out.Bytes(), fault) == nil && fault.Msg != "" {
		return nil, fault
	}
	return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
}

// portmapConfig writes what portmap would read behind the bridge plugin.
func portmapConfig(s *settings, result *current.Result) ([]byte, error) {
	config := map[string]any{
		"cniVersion": s.CNIVersion, "name": s.Name, "type": "portmap", "backend": s.Backend,
		// Host ports answer on 127.0.0.1 and to the pod itself.
		"snat":          true,
		"runtimeConfig": map[string]any{"portMappings": s.Runtime.Ports},
	}
	if result != nil {
		converted, err := result.GetAsVersion(s.CNIVersion)
		if err != nil {
			return nil, fmt.Errorf("tell portmap of the pod's addresses: %w", err)
		}
		config["prevResult"] = converted
	}
	return json.Marshal(config)
}
