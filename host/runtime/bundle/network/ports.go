package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/containernetworking/cni/pkg/invoke"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// openPorts has portmap open the pod's host ports.
func openPorts(s *settings, result *current.Result) error {
	config, err := portmapConfig(s, result)
	if err != nil {
		return err
	}
	if _, err := invoke.DelegateAdd(context.Background(), "portmap", config, nil); err != nil {
		return fmt.Errorf("open the pod's host ports: %w", err)
	}
	return nil
}

func closePorts(s *settings) error {
	config, err := portmapConfig(s, nil)
	if err != nil {
		return err
	}
	if err := invoke.DelegateDel(context.Background(), "portmap", config, nil); err != nil {
		return fmt.Errorf("close the pod's host ports: %w", err)
	}
	return nil
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
