package process_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/test/process"
)

func shell(t *testing.T, script string) *process.Process {
	t.Helper()
	p := &process.Process{Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// awaitReady waits until the program has printed "ready".
func awaitReady(t *testing.T, p *process.Process) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.LogTail(), "ready"); {
		if time.Now().After(deadline) {
			t.Fatalf("the program is not ready; its log is %q", p.LogTail())
		}
		<-time.After(time.Millisecond)
	}
}

func TestWaitReturnsTheExitCode(t *testing.T) {
	if code, err := shell(t, "exit 3").Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("got code %d (%v), want 3", code, err)
	}
}

func TestStopKillsAProgramThatIgnoresTheSignal(t *testing.T) {
	p := shell(t, "trap '' TERM; echo ready; while :; do sleep 1; done")
	awaitReady(t, p)
	err := p.Stop(syscall.SIGTERM, 10*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v, want an error about the kill", err)
	}
	if err := p.Stop(syscall.SIGTERM, time.Second); err != nil {
		t.Errorf("stop an ended program: %v", err)
	}
}

func TestStopLetsAProgramEndItself(t *testing.T) {
	p := shell(t, "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
	awaitReady(t, p)
	if err := p.Stop(syscall.SIGTERM, 10*time.Second); err != nil || p.Code() != 5 {
		t.Errorf("got code %d (%v), want 5", p.Code(), err)
	}
}

func TestLogHoldsTheOutputOfAllStarts(t *testing.T) {
	p := shell(t, "echo run; exit 1")
	<-p.Ended()
	if err := p.Alive(); err == nil || !strings.Contains(err.Error(), "run\n") {
		t.Errorf("got %v, want an error with the log", err)
	}
	p.Kill()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	if got := p.LogTail(); got != "run\nrun\n" {
		t.Errorf("the log is %q, want two runs", got)
	}
}
