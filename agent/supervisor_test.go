package agent

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodal/agent/config"
	"nodal/sim/cri"
)

func TestTheServiceManagerIsNotifiedOfTheAgentsState(t *testing.T) {
	dir, err := os.MkdirTemp("", "nodal-agent-") // short: a unix address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "manager"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	t.Setenv("NOTIFY_SOCKET", manager.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "40000")
	cfg, err := config.Load([]string{
		"--root-dir", filepath.Join(dir, "root"), "--socket", filepath.Join(dir, "node.sock"),
		"--container-runtime-endpoint", simulatedRuntime(t, filepath.Join(dir, "cri.sock")),
		"--enable-server=false", "--healthz-port=0",
		"--cgroups-per-qos=false", "--enforce-node-allocatable=", // the test makes no cgroups
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Config: cfg, Version: "test", Log: slog.New(slog.DiscardHandler)}) }()
	told(t, manager, "READY=1")
	if conn, err := net.Dial("unix", cfg.Listen.Socket); err != nil {
		t.Errorf("ready, but %v", err)
	} else {
		conn.Close()
	}
	told(t, manager, "WATCHDOG=1")
	cancel()
	told(t, manager, "STOPPING=1")
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

// simulatedRuntime serves until the test ends.
func simulatedRuntime(t *testing.T, socket string) (endpoint string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := cri.NewServer(cri.Config{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "unix://" + socket
}

// told waits for a word. Those of the watchdog may come before any other.
func told(t *testing.T, manager *net.UnixConn, want string) {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	for {
		n, err := manager.Read(buffer)
		if err != nil {
			t.Fatalf("wait for %s: %v", want, err)
		}
		switch got := string(buffer[:n]); got {
		case want:
			return
		case "WATCHDOG=1":
		default:
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// waitForSocket waits until the agent serves there.
func waitForSocket(t *testing.T, path string, ended <-chan error) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("the agent ended: %v", err)
		case <-limit:
			t.Fatal("the agent does not serve")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
