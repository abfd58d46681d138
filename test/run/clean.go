package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nodal/test/agent"
)

func (e example) pidFile() string { return filepath.Join(e.dir, "pid") }

func (e example) notePid(a *agent.Agent) error {
	if err := os.WriteFile(e.pidFile(), []byte(strconv.Itoa(a.Pid())), 0o644); err != nil {
		return fmt.Errorf("note the kubelet's process: %w", err)
	}
	return nil
}

// clean removes everything that bringUp has made.
func (e example) clean(ctx context.Context) error {
	if _, err := os.Stat(e.dir); errors.Is(err, fs.ErrNotExist) {
		e.say("there is no example node")
		return nil
	}
	if err := e.endKubelet(ctx); err != nil {
		return err
	}
	e.say("taking everything away ...")
	root := agent.Config{Dir: e.dir}.Root()
	out, err := exec.CommandContext(ctx, e.kubelet, "clean", "--root-dir", root).CombinedOutput()
	if err != nil {
		return fmt.Errorf("take the node away: %w\n%s", err, out)
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove the node's directory: %w", err)
	}
	return nil
}

// endKubelet ends the kubelet that an earlier `make run` has left, by force if it takes too long.
// Its pods outlive it in any case.
func (e example) endKubelet(ctx context.Context) error {
	text, err := os.ReadFile(e.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("find the kubelet's process: %w", err)
	}
	signal, patience := syscall.SIGTERM, time.Now().Add(30*time.Second)
	for e.runs(pid) {
		if time.Now().After(patience) {
			signal = syscall.SIGKILL
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the kubelet: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end the kubelet: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// runs reports whether a process is this node's kubelet: another process may have the ID by now.
func (e example) runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("\x00"+agent.Config{Dir: e.dir}.Root()+"\x00"))
}
