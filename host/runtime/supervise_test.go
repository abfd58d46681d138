package runtime

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// newFake makes a runtime whose containerd is a fake, and the channel of its events.
func newFake(t *testing.T) (*Runtime, chan node.Event) {
	t.Helper()
	state, err := os.MkdirTemp("", "nd") // short, for the socket's address
	if err != nil {
		t.Fatal(err)
	}
	l := layout{id: "0123456789ab", root: t.TempDir(), state: state}
	if err := l.make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.stopDaemons(context.Background()); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	events := make(chan node.Event, 16)
	return &Runtime{layout: l, hostDirs: fakeHost(t), config: Config{
		Log: slog.New(slog.DiscardHandler), Tell: func(e node.Event) { events <- e }, Network: &fakeNetwork{},
	}}, events
}

// fakeHost makes the directory of a host's programs: each is a link to the test's own binary.
func fakeHost(t *testing.T) hostDirs {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range append(plugins(), "containerd", "containerd-shim-runc-v2", "runc") {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return hostDirs{programs: []string{dir}, plugins: []string{dir}}
}

// another is the runtime as an agent that starts later sees it.
func another(r *Runtime) *Runtime {
	return &Runtime{layout: r.layout, hostDirs: r.hostDirs, config: r.config}
}

func wantEvent(t *testing.T, events chan node.Event, reason string) node.Event {
	t.Helper()
	select {
	case e := <-events:
		if e.Reason != reason {
			t.Fatalf("got event %+v, want %s", e, reason)
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatalf("no event came, want %s", reason)
	}
	return node.Event{}
}

func TestContainerdThatIsKilledOnItsWayUpIsStartedAgain(t *testing.T) {
	r, events := newFake(t)
	if err := os.WriteFile(filepath.Join(r.layout.root, "doomed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := wantEvent(t, events, Exited); !strings.Contains(e.Message, "killed") {
		t.Errorf("got %+v, want that it was killed", e)
	}
	wantEvent(t, events, Started)
}

func TestContainerdThatEndsIsStartedAgain(t *testing.T) {
	r, events := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()

	first := r.Pid()
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := wantEvent(t, events, Exited); !e.Warning || !strings.Contains(e.Message, "killed") {
		t.Errorf("got %+v, want a warning that it was killed", e)
	}
	wantEvent(t, events, Started)

	// A containerd that does not come up is tried again, and the event quotes its log.
	broken := filepath.Join(r.layout.root, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Exited)
	if e := wantEvent(t, events, Failed); !strings.Contains(e.Message, "the fake is broken") {
		t.Errorf("got %+v, want what the log said", e)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	e := <-events
	for e.Reason == Failed {
		e = <-events
	}
	if e.Reason != Started {
		t.Errorf("got %+v, want that it was started", e)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestSameContainerdIsAdoptedAndWatched(t *testing.T) {
	r, events := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	next := another(r)
	if err := next.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Adopted)
	if next.Pid() != r.Pid() {
		t.Errorf("adopted process %d, want %d", next.Pid(), r.Pid())
	}
	if err := unix.Kill(next.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-next.daemon.done:
	case <-time.After(30 * time.Second):
		t.Error("the end of a process that is no child was not noticed")
	}
}

func TestContainerdOfAnotherConfigurationIsReplaced(t *testing.T) {
	r, events := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	next := another(r)
	next.config.SandboxImage = "another"
	if err := next.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	<-r.daemon.done
	if running := next.layout.running(); len(running) != 1 || running[0].pid != next.Pid() {
		t.Errorf("got %v, want only process %d", running, next.Pid())
	}
	if left, _ := filepath.Glob(r.layout.config("*")); len(left) != 1 {
		t.Errorf("got configurations %v, want one", left)
	}
}

func TestAnOldConfigurationThatStaysCostsNoStart(t *testing.T) {
	r, events := newFake(t)
	if err := os.MkdirAll(filepath.Join(r.layout.config("stuck"), "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.bringUp(t.Context()); err != nil {
		t.Errorf("got %v, want that it is only logged", err)
	}
	wantEvent(t, events, Started)
}

func TestContainerdOfOtherProgramsIsReplaced(t *testing.T) {
	r, events := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	next := another(r)
	next.hostDirs = fakeHost(t)
	if err := next.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	<-r.daemon.done
}

func TestDamagedBundleIsMendedAndReported(t *testing.T) {
	r, events := newFake(t)
	r.config.Archive, r.config.Index = pack(t, contents())
	for range 2 { // neither the first time nor a whole one is worth a word
		if _, err := r.programs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Glob(filepath.Join(r.layout.bundles(), "*/bin/runc"))
	if err := errors.Join(err, os.Truncate(path[0], 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.programs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := wantEvent(t, events, Repaired); !strings.Contains(e.Message, "bin/runc") {
		t.Errorf("got %+v, want the file's name", e)
	}
}

func TestStopEndsContainerd(t *testing.T) {
	r, events := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, events, Started)
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running := r.layout.running(); len(running) > 0 {
		t.Errorf("%v still run", running)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestAFailedStartEndsOnlyItsOwnContainerd(t *testing.T) {
	r, _ := newFake(t)
	if err := r.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := another(r)
	if err := next.bringUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := next.giveUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running := r.layout.running(); len(running) != 1 {
		t.Errorf("%v run, want the one that was adopted", running)
	}
	if err := r.giveUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running := r.layout.running(); len(running) > 0 {
		t.Errorf("%v still run", running)
	}
}

func TestOnlyOwnContainerdIsFound(t *testing.T) {
	r, _ := newFake(t)
	bin := t.TempDir()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "shim"), self, 0o700); err != nil {
		t.Fatal(err)
	}
	startFake(t, filepath.Join(bin, "shim"), "--config", r.layout.config("x")) // as an editor would have it open
	if got := r.layout.running(); len(got) > 0 {
		t.Errorf("took %v for containerd", got)
	}
	for _, c := range []struct {
		name string
		args []string
		want bool
	}{
		{"our shim", []string{"/x/containerd-shim-runc-v2", "-address", r.layout.socket()}, true},
		{"a shim of a directory whose name begins like ours", []string{"containerd-shim-runc-v2", "-address", r.layout.state + "x/containerd.sock"}, false},
		{"a shim of a directory that ends like ours", []string{"containerd-shim-runc-v2", "-address", "/other" + r.layout.socket()}, false},
		{"a reader of the log", []string{"tail", "-f", r.layout.log()}, false},
	} {
		if got := r.layout.serves(process{os.Getpid(), c.args}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// Where two nodes see each other's processes but not each other's files.
func TestAnotherNodesContainerdAtTheSamePathIsLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	r, _ := newFake(t)
	l := r.layout
	bin := t.TempDir()
	for _, name := range []string{"containerd", "containerd-shim-runc-v2"} {
		if err := os.Symlink("/bin/sh", filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	start := func(program, mount, option, path string) process {
		t.Helper()
		// The shell reports that it has started, and waits for its end.
		script := mount + ` && exec "$0" -c 'echo && read _' "$@"`
		cmd := exec.Command("/bin/sh", "-c", script, filepath.Join(bin, program), option, path)
		cmd.Env = append(os.Environ(), "ROOT="+l.root, "STATE="+l.state)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		in, noInput := cmd.StdinPipe()
		out, noOutput := cmd.StdoutPipe()
		if err := errors.Join(noInput, noOutput, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait() // of no consequence how
		})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatalf("%s with %s: %v", program, mount, err)
		}
		for _, p := range processes() {
			if p.pid == cmd.Process.Pid {
				return p
			}
		}
		t.Fatalf("%s with %s does not run", program, mount)
		return process{}
	}
	const hidesRoot, hidesBoth = `mount -t tmpfs none "$ROOT"`, `mount -t tmpfs none "$ROOT" && mount -t tmpfs none "$STATE"`
	for _, c := range []struct {
		mount string
		want  bool
	}{{"true", true}, {hidesRoot, true}, {hidesBoth, false}} {
		daemon := start("containerd", c.mount, "--config", l.config("x"))
		shim := start("containerd-shim-runc-v2", c.mount, "-address", l.socket())
		found := slices.ContainsFunc(l.running(), func(p process) bool { return p.pid == daemon.pid })
		if served := l.serves(shim); found != c.want || served != c.want {
			t.Errorf("after %s containerd is ours: %t, and a shim: %t, want %t", c.mount, found, served, c.want)
		}
	}
	if gone := (process{pid: 1 << 30}); gone.sees(l.root) {
		t.Error("a process that has ended is taken for ours")
	}
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := trimLog(path); err != nil {
		t.Errorf("without a log: %v", err)
	}
	writer, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	long := append(bytes.Repeat([]byte("x"), maxLog), []byte("end\n")...)
	for _, text := range [][]byte{long, []byte("next\n")} {
		if _, err := writer.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := trimLog(path); err != nil {
			t.Fatal(err)
		}
	}
	now, err := os.ReadFile(path)
	if err != nil || string(now) != "next\n" {
		t.Errorf("got %d bytes (%v), want what was written since", len(now), err)
	}
	old, err := os.ReadFile(path + ".1")
	if err != nil || len(old) != maxLog || !bytes.HasSuffix(old, []byte("end\n")) {
		t.Errorf("kept %d bytes (%v), want the last %d", len(old), err, maxLog)
	}
}

func TestChildGetsAnEnvironmentOfItsOwn(t *testing.T) {
	t.Setenv("PATH", "/agent")
	got := environment([]string{"PATH=/agent", "HTTP_PROXY=p", "NOTIFY_SOCKET=/run/notify", "TMPDIR=/t"}, "/bundle/bin", "/own")
	want := []string{"HTTP_PROXY=p", "PATH=/bundle/bin:/agent:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/own"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
