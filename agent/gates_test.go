package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"nodal/agent/config"
)

// The agent starts with every gate that may be turned turned, and tells each of them.
func TestTheAgentStartsWithEveryGateTurned(t *testing.T) {
	dir, err := os.MkdirTemp("", "nodal-agent-") // short: a unix address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	args := []string{
		"--root-dir", filepath.Join(dir, "root"), "--socket", filepath.Join(dir, "node.sock"),
		"--container-runtime-endpoint", simulatedRuntime(t, filepath.Join(dir, "cri.sock")),
		"--enable-server=false", "--healthz-port=0",
		"--cgroups-per-qos=false", "--enforce-node-allocatable=", // the test makes no cgroups
	}
	plain, err := config.Load(args)
	if err != nil {
		t.Fatal(err)
	}
	turned := 0
	for _, g := range plain.Gates() {
		other := "--feature-gates=" + g.Name + "=" + map[bool]string{true: "false", false: "true"}[g.Default]
		if _, err := config.Load([]string{other}); err == nil { // the others are locked
			args = append(args, other)
			turned++
		}
	}
	told, settings := settingsOf(t, args)
	if told != turned || turned < 100 || settings < 150 {
		t.Errorf("the API tells %d gates that were turned and %d settings, want %d gates, at least 100, and all settings", told, settings, turned)
	}
}

// settingsOf starts an agent, and returns how many gates it says that it was told, and how many settings it has.
func settingsOf(t *testing.T, args []string) (gates, settings int) {
	t.Helper()
	cfg, err := config.Load(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler)}) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	waitForSocket(t, cfg.Listen.Socket, ended)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", cfg.Listen.Socket)
	}}}
	defer client.CloseIdleConnections()
	reply, err := client.Get("http://node/v1/node/config")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var answer struct {
		Settings     []struct{ Name string }
		FeatureGates []struct{ Told *bool }
	}
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("GET /v1/node/config: %s, %v", reply.Status, err)
	}
	for _, g := range answer.FeatureGates {
		if g.Told != nil {
			gates++
		}
	}
	return gates, len(answer.Settings)
}
