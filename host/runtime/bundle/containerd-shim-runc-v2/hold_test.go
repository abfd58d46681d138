package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The first step fails in each case, so that nothing of the machine changes.
func TestTheProgramTellsTheStepThatFailed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hold")
	build := exec.Command("gcc", "-Os", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-Wall", "-Wextra", "-Werror",
		"-o", program, "../hold/hold.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	spec := plain()
	spec.Linux.Namespaces[4].Path = filepath.Join(t.TempDir(), "gone")
	whole := instructions("/b", spec)
	if err := reportOn(t, program, whole); !errors.Is(err, syscall.ENOENT) || !strings.HasPrefix(err.Error(), "enter the network namespace: ") {
		t.Errorf("a network namespace that is gone: got %v", err)
	}
	if err := reportOn(t, program, nil); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no instructions: got %v", err)
	}
	if err := reportOn(t, program, whole[:10]); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("instructions that end early: got %v", err)
	}
	if err := reportOn(t, program, append(whole, make([]byte, 20000)...)); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("too many instructions: got %v", err)
	}
}

// reportOn gives instructions to the program, and reads its report.
func reportOn(t *testing.T, program string, instructions []byte) error {
	t.Helper()
	var report bytes.Buffer
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(instructions), &report, os.Stderr
	var ended *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &ended) || ended.ExitCode() != 1 {
		t.Errorf("the program ended with %v", err)
	}
	return readReport(&report)
}
