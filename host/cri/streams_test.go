package cri_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestContainerdRunsCommandsInAContainer(t *testing.T) {
	f, _ := onContainerd(t, "busybox", "sleep", "1000")
	_, container := f.start()
	stdout, stderr, exit, err := f.cri.ExecSync(t.Context(), container, []string{"sh", "-c", "echo out; echo err >&2; exit 4"}, patience)
	if err != nil || string(stdout) != "out\n" || string(stderr) != "err\n" || exit != 4 {
		t.Errorf("got %q, %q, %d, %v", stdout, stderr, exit, err)
	}
	if _, _, _, err := f.cri.ExecSync(t.Context(), strings.Repeat("0", 64), []string{"true"}, patience); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("in a container that is not there: %v, want not found", err)
	}
	_, _, _, err = f.cri.ExecSync(t.Context(), container, []string{"sleep", "1000"}, time.Second)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that takes too long: %v, want the deadline exceeded", err)
	}
	_, _, _, err = f.cri.ExecSync(t.Context(), container, []string{"dd", "if=/dev/zero", "bs=1M", "count=20"}, patience)
	if !errors.Is(err, node.ErrTooLarge) {
		t.Errorf("20 MiB of output: %v, want them refused", err)
	}
}

func TestContainerdStreamsCommandsInAContainer(t *testing.T) {
	f, _ := onContainerd(t, "busybox", "sleep", "1000")
	_, container := f.start()
	var out, errs bytes.Buffer
	streams := node.Streams{Stdin: strings.NewReader("typed\n"), Stdout: &out, Stderr: &errs}
	code, err := f.cri.Exec(t.Context(), container, []string{"sh", "-c", "cat; echo err >&2; exit 5"}, streams)
	if err != nil || code != 5 || out.String() != "typed\n" || errs.String() != "err\n" {
		t.Errorf("got %q, %q, %d, %v", &out, &errs, code, err)
	}

	out.Reset()
	sizes := make(chan node.TerminalSize, 1)
	sizes <- node.TerminalSize{Width: 77, Height: 33}
	terminal := node.Streams{Stdout: &out, TTY: true, Resize: sizes}
	script := "while [ \"$(stty size 2>/dev/null)\" != '33 77' ]; do :; done; echo seen"
	if code, err = f.cri.Exec(t.Context(), container, []string{"sh", "-c", script}, terminal); err != nil || code != 0 || out.String() != "seen\r\n" {
		t.Errorf("with a terminal: got %q, %d, %v", &out, code, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		io.ReadFull(reader, make([]byte, 3))
		cancel()
		reader.Close()
	}()
	if _, err := f.cri.Exec(ctx, container, []string{"sh", "-c", "echo up; sleep 1001; true"}, node.Streams{Stdout: writer}); err == nil {
		t.Error("a cancelled command ended without an error")
	}
	left := func() string {
		out, _, _, err := f.cri.ExecSync(t.Context(), container, []string{"ps"}, patience)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for deadline := time.Now().Add(patience); strings.Contains(left(), "sleep 1001"); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the command runs on without its client:\n%s", left())
		}
	}
}

func TestARuntimeThatHangsIsNotACommandThatDoes(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		_, container := f.start()
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "ExecSync", Kind: sim.Hang}}})
		_, _, _, err := f.cri.ExecSync(f.Context(), container, []string{"exit", "0"}, time.Second)
		if !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("got %v, want the runtime unavailable", err)
		}
	})
}

func TestOutputThatFitsNoAnswerSaysSo(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		_, container := f.start()
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "ExecSync", Kind: sim.ErrorAfter, Code: codes.ResourceExhausted}}})
		_, _, _, err := f.cri.ExecSync(f.Context(), container, []string{"exit", "0"}, time.Second)
		if !errors.Is(err, node.ErrTooLarge) {
			t.Errorf("got %v, want too large", err)
		}
	})
}
