package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nodal/test/process"
)

// own measures the binary with its own container runtime: its size, and how soon it can run pods.
func (b *suite) own(ctx context.Context) error {
	info, err := os.Stat(b.binaries.nodal)
	if err != nil {
		return fmt.Errorf("look at our binary: %w", err)
	}
	b.add("own runtime: size of the binary with it", "MB", nodalOnly(float64(info.Size())/1e6), atMost(60, "MB"))
	return b.ownStarts(ctx)
}

func nodalOnly(value float64) map[string]float64 { return map[string]float64{nodalColumn: value} }

// ownStarts times the way from exec to ready. The first start unpacks, later ones start containerd,
// and after a kill the agent finds containerd running.
func (b *suite) ownStarts(ctx context.Context) error {
	took := map[string][]time.Duration{}
	for range b.sizes.repeats {
		if err := b.ownNode(ctx, took); err != nil {
			return err
		}
	}
	b.add("own runtime: agent's exec to ready, first time", "ms", nodalOnly(milliseconds(median(took["first"]))), atMost(400, "ms"))
	b.add("own runtime: agent's exec to ready, later", "ms", nodalOnly(milliseconds(median(took["later"]))), atMost(150, "ms"))
	b.add("own runtime: agent's exec to ready, containerd still runs", "ms", nodalOnly(milliseconds(median(took["adopts"]))), atMost(150, "ms"))
	return nil
}

// ownNode starts, restarts and removes one node without pods.
func (b *suite) ownNode(ctx context.Context, took map[string][]time.Duration) (err error) {
	dir, err := os.MkdirTemp("/var/lib", "nodal-bench-")
	if err != nil {
		return fmt.Errorf("make a directory for the node: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at, claim, err := freePorts()
	if err != nil {
		return err
	}
	defer claim.Close()
	socket := filepath.Join(dir, "n.sock")
	p := &process.Process{Path: b.binaries.nodal, Log: filepath.Join(dir, "log"), Args: []string{
		"--root-dir", dir + "/root", "--socket", socket, "--hostname-override", "bench", "--stop-runtime-on-exit",
		"--address", "127.0.0.1", "--port", strconv.Itoa(at.secure), "--healthz-port", "0",
	}}
	defer func() {
		err = errors.Join(err, p.Stop(syscall.SIGKILL, stopTimeout), cleanNode(context.WithoutCancel(ctx), b.binaries.nodal, dir+"/root"))
	}()
	client := unixClient(socket)
	for _, start := range []struct {
		name string
		end  syscall.Signal
	}{{"first", syscall.SIGTERM}, {"later", syscall.SIGKILL}, {"adopts", 0}} {
		began := time.Now()
		if err := p.Start(); err != nil {
			return err
		}
		if err := poll(ctx, 2*time.Millisecond, func() (bool, error) { return ownReady(ctx, client), p.Alive() }); err != nil {
			return fmt.Errorf("wait for the node's own runtime: %w", err)
		}
		took[start.name] = append(took[start.name], time.Since(began))
		if start.end != 0 {
			if err := p.Stop(start.end, stopTimeout); err != nil {
				return err
			}
		}
	}
	return b.ownMemory(ctx, p, dir+"/root")
}

func ownReady(ctx context.Context, client *http.Client) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/v1/node", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var node struct {
		Runtime struct{ Ready, NetworkReady bool }
	}
	data, err := io.ReadAll(response.Body)
	return err == nil && json.Unmarshal(data, &node) == nil && node.Runtime.Ready && node.Runtime.NetworkReady
}

// ownMemory adds its row once: the memory is the same at each start.
func (b *suite) ownMemory(ctx context.Context, p *process.Process, root string) error {
	const what = "own runtime: agent and containerd, idle, resident"
	if b.rows[len(b.rows)-1].what == what {
		return nil
	}
	if err := pause(ctx, b.sizes.settle); err != nil {
		return err
	}
	containerd, err := containerdBelow(root)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, pid := range []int{p.Pid(), containerd} {
		resident, _, err := memory(pid)
		if err != nil {
			return err
		}
		sum += resident
	}
	b.add(what, "MiB", nodalOnly(sum), atMost(85.8, "MiB"))
	return nil
}

// containerdBelow returns the containerd whose configuration lies below a directory.
func containerdBelow(root string) (pid int, err error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(text), "/containerd\x00--config\x00"+root+"/") {
			return strconv.Atoi(filepath.Base(filepath.Dir(line)))
		}
	}
	return 0, fmt.Errorf("no containerd runs from %s", root)
}

// cleanNode removes what a node has left, as its owner would.
func cleanNode(ctx context.Context, binary, root string) error {
	out, err := exec.CommandContext(ctx, binary, "clean", "--root-dir", root).CombinedOutput()
	if err != nil {
		return fmt.Errorf("clean the node of %s: %w\n%s", root, err, out)
	}
	return nil
}
