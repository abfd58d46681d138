package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/go-runc"
	"golang.org/x/sys/unix"
)

func TestCommandLinesOfTheShimAreRead(t *testing.T) {
	for _, c := range []struct {
		line string
		want command
		ok   bool
	}{
		{
			"--root /r --log /b/log.json --log-format json create --bundle /b --pid-file /b/init.pid id",
			command{root: "/r", log: "/b/log.json", verb: "create", bundle: "/b", pidFile: "/b/init.pid", args: []string{"id"}}, true,
		},
		{
			"--root /r --log /b/log.json --log-format json --systemd-cgroup kill --all id 9",
			command{root: "/r", log: "/b/log.json", verb: "kill", systemd: true, args: []string{"id", "9"}}, true,
		},
		{
			"--log /b/log.json create --bundle /b --console-socket=/s id",
			command{log: "/b/log.json", verb: "create", bundle: "/b", console: true, args: []string{"id"}}, true,
		},
		{"delete --force id", command{verb: "delete", args: []string{"id"}}, true},
		{"ps --format json id", command{verb: "ps", args: []string{"id"}}, true},
		{"features", command{verb: "features"}, false},
	} {
		got, ok := readCommand(strings.Fields(c.line))
		if ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v, %v", c.line, got, ok, c.want, c.ok)
		}
	}
}

// recorder stands for what starts runc.
type recorder struct {
	runc.ProcessMonitor
	lines []string
}

func (r *recorder) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	r.lines = append(r.lines, strings.Join(cmd.Args, " "))
	return make(chan runc.Exit), nil
}

func (r *recorder) Wait(*exec.Cmd, chan runc.Exit) (int, error) { return 7, nil }

func TestOtherCommandsAreRuncs(t *testing.T) {
	behind := &recorder{}
	f := newFront(behind)
	for _, line := range []string{"features", "exec id", "delete id", "kill id 9", "ps id", "start id", "create --bundle /none id"} {
		cmd := exec.Command("runc", strings.Fields(line)...)
		exits, err := f.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if status, err := f.Wait(cmd, exits); status != 7 || err != nil {
			t.Errorf("%s ended with %d, %v; want runc's status", line, status, err)
		}
		if got := behind.lines[len(behind.lines)-1]; got != "runc "+line {
			t.Errorf("%s: runc was last asked to %q", line, got)
		}
	}
}

// held is a sandbox of a process that a test has started.
func heldSandbox(t *testing.T) (*front, *exec.Cmd) {
	t.Helper()
	file := -1
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{PidFD: &file}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	f := newFront(&recorder{})
	f.sandboxes["id"] = &sandbox{pid: cmd.Process.Pid, file: file}
	return f, cmd
}

func (f *front) run(t *testing.T, line string) (status int, output string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("runc", strings.Fields(line)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	exits, err := f.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	status, err = f.Wait(cmd, exits)
	if err != nil {
		t.Fatal(err)
	}
	return status, out.String()
}

func TestAHeldSandboxNeedsNoRunc(t *testing.T) {
	f, process := heldSandbox(t)
	if status, _ := f.run(t, "start id"); status != 0 {
		t.Errorf("start ended with %d", status)
	}
	if status, out := f.run(t, "ps --format json id"); status != 0 || out != "["+strconv.Itoa(process.Process.Pid)+"]\n" {
		t.Errorf("ps ended with %d: %s", status, out)
	}
	if status, _ := f.run(t, "kill id 9"); status != 0 {
		t.Errorf("kill ended with %d", status)
	}
	err := process.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the process ended with %v", err)
	}
	// The shim knows by these words that there is nothing to kill.
	if status, out := f.run(t, "kill id 9"); status != 1 || !strings.Contains(out, "container not running") {
		t.Errorf("a second kill ended with %d: %s", status, out)
	}
	// containerd asks whether a shim that it does not know holds anything.
	if status, out := f.run(t, "ps --format json id"); status != 0 || out != "[]\n" {
		t.Errorf("ps of a sandbox that has ended: got %d, %s", status, out)
	}
	if status, _ := f.run(t, "delete id"); status != 0 || f.sandbox("id") != nil {
		t.Errorf("delete ended with %d", status)
	}
}

// created makes the files of a container that was created.
func created(t *testing.T, pid int) (line, pipe string) {
	t.Helper()
	dir := t.TempDir()
	pipe = filepath.Join(dir, "runc", "id", "exec.fifo")
	if err := os.MkdirAll(filepath.Dir(pipe), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "init.pid"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--root " + dir + "/runc --log " + dir + "/log.json start id", pipe
}

func TestAContainerBeginsOnceItsPipeIsRead(t *testing.T) {
	line, pipe := created(t, os.Getpid())
	wrote := make(chan error, 1)
	go func() {
		file, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader, as runc's first process does
		if err == nil {
			_, err = file.Write([]byte("0"))
			err = errors.Join(err, file.Close())
		}
		wrote <- err
	}()
	if status, out := newFront(&recorder{}).run(t, line); status != 0 {
		t.Errorf("start ended with %d: %s", status, out)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(pipe); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pipe is still there: %v", err)
	}
}

func TestAContainerThatDiedBeforeItBeganDoesNotStart(t *testing.T) {
	process := exec.Command("true")
	if err := process.Run(); err != nil {
		t.Fatal(err)
	}
	line, _ := created(t, process.Process.Pid)
	if status, out := newFront(&recorder{}).run(t, line); status != 1 || !strings.Contains(out, "already dead") {
		t.Errorf("start ended with %d: %s", status, out)
	}
}
