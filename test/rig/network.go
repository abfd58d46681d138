package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// LoseNetwork removes the configuration of the pods' network, and returns once containerd has
// noticed. Running pods keep their addresses.
func (r *Runtime) LoseNetwork() error {
	path := r.network()
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the network: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the network: %w", err)
	}
	r.lost = text
	return r.waitNetwork(false)
}

// RegainNetwork undoes LoseNetwork. containerd notices files that are written, but not files that
// are moved into its directory.
func (r *Runtime) RegainNetwork() error {
	if err := os.WriteFile(r.network(), r.lost, 0o600); err != nil {
		return fmt.Errorf("write the network: %w", err)
	}
	r.lost = nil
	return r.waitNetwork(true)
}

// waitNetwork waits until containerd reports the network as ready, or not ready.
func (r *Runtime) waitNetwork(ready bool) error {
	return r.waitFor("the network", func(ctx context.Context) error {
		status, err := r.CRI().Status(ctx, &runtimev1.StatusRequest{})
		if err != nil {
			return err
		}
		for _, c := range status.Status.Conditions {
			if c.Type == runtimev1.NetworkReady && c.Status != ready {
				return fmt.Errorf("it is ready: %t: %s", c.Status, c.Message)
			}
		}
		return nil
	})
}

// network returns the file with the configuration of the pods' network.
func (r *Runtime) network() string {
	if r.own != nil {
		return r.own.config.Places().Conflist
	}
	return filepath.Join(r.Dir, "cni", "10-rig.conflist")
}
