package web

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/daemon"
)

// startNeighbour runs a second node. It has no container runtime, so that its pods wait.
func startNeighbour(t *testing.T) *daemon.Daemon {
	t.Helper()
	binary, err := agent.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := daemon.StartWith(t, agent.Config{Dir: dir, Binary: binary, Endpoint: "unix://" + filepath.Join(dir, "no.sock"), Flags: []string{"--hostname-override", "node-b"}})
	if err := post(d, "far"); err != nil {
		t.Fatal(err)
	}
	return d
}

// introduce names the neighbour to the node whose --nodes-file is of that directory of configurations.
func introduce(neighbour *daemon.Daemon, config string) error {
	if err := os.Setenv("XDG_CONFIG_HOME", config); err != nil {
		return err
	}
	defer os.Unsetenv("XDG_CONFIG_HOME")
	out, err := neighbour.Run("context", "add", "edge-2", "--node", "https://"+local(neighbour.Port),
		"--token-file", filepath.Join(neighbour.Dir, "credentials/viewer.token"), "--ca", filepath.Join(neighbour.Dir, "pki/ca.crt"))
	if err != nil {
		return fmt.Errorf("kubelet context add: %w: %s", err, out)
	}
	return nil
}

func nodesFile(config string) string { return filepath.Join(config, "nodal/contexts.yaml") }

// post has a node take a pod whose environment is not for viewers.
func post(d *daemon.Daemon, name string) error {
	manifest := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  containers: [{name: main, image: \"nodal.test/none:1\", env: [{name: WORD, value: sesame}]}]\n", name)
	_, err := nodev1.NewManifestsServiceClient(d.Conn()).Apply(context.Background(), &nodev1.ApplyRequest{Manifest: manifest})
	if err != nil {
		return fmt.Errorf("post a pod to the other node: %w", err)
	}
	return nil
}
