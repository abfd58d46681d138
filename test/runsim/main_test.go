package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/test/agent"
)

// unprivileged is a user ID without privileges.
const unprivileged = 65534

func TestTheSimulatedNodeRunsForAnyUserAndLeavesNothing(t *testing.T) {
	dir := openDir(t)
	program := start(t, dir)
	socket := program.socket(t)
	node := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}

	following := get(t, node, "/v1/namespaces/default/pods/web/containers/web/logs?follow=true")
	waitLine(t, following, "serving on port 8080")
	waitLine(t, following, "web is busy")
	if got, want := inWeb(t, node, "echo hello"), "hello\n"; got != want {
		t.Errorf("echo in a container: got %q, want %q", got, want)
	}
	inWeb(t, node, "kill 1")
	if rest, err := io.ReadAll(following); err != nil {
		t.Errorf("a followed log does not end with its container: %v, after %q", err, rest)
	}
	watch := get(t, node, "/v1/pods:watch?namespace=default")
	waitLine(t, watch, `"name":"web".*"restarts":1`)

	program.interrupt(t)
	if left, _ := filepath.Glob(filepath.Join(dir, "nodal-sim-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// openDir returns a directory that every user may write to, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nodal-runsim-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running is the program of `make run-sim`.
type running struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// start runs the program, as an unprivileged user if the test is root.
func start(t *testing.T, dir string) running {
	t.Helper()
	kubelet, err := agent.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "own") // the other directory may be closed to this user
	if err := os.WriteFile(own, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "runsim")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	cmd := exec.Command(path, "-kubelet", own)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, []string{"TMPDIR=" + dir}, t.Output()
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(os.Interrupt) // SIGKILL would leave the kubelet behind
			cmd.Wait()
		}
	})
	return running{cmd, bufio.NewReader(out)}
}

// socket returns the node's socket as the guide names it.
func (r running) socket(t *testing.T) string {
	t.Helper()
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			t.Fatalf("the program ended before it printed how to reach the node: %v", err)
		}
		if _, rest, found := strings.Cut(line, "export SOCKET="); found {
			return strings.Fields(rest)[0]
		}
	}
}

// interrupt sends SIGINT, as Ctrl-C does.
func (r running) interrupt(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.out); err != nil {
		t.Errorf("read the guide to its end: %v", err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v, want no error", err)
	}
}

func get(t *testing.T, node *http.Client, path string) *bufio.Reader {
	t.Helper()
	response, err := node.Get("http://node" + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return bufio.NewReader(response.Body)
}

// inWeb runs a command in the example's container.
func inWeb(t *testing.T, node *http.Client, command string) string {
	t.Helper()
	response, err := node.PostForm("http://node/run/default/web/web", url.Values{"cmd": {command}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func waitLine(t *testing.T, r *bufio.Reader, pattern string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for {
		line, err := r.ReadString('\n')
		if want.MatchString(line) {
			return
		}
		if err != nil {
			t.Fatalf("no line matches %q: %v", pattern, err)
		}
	}
}
