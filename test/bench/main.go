package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"nodal/test/rig"
)

const documentPath = "docs/BENCHMARKS.md"

func main() {
	p := &program{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.clean()
		bench(p)
	}()
	<-done
	os.Exit(p.code)
}

// bench runs the whole program; t can end it early, and cleans up.
func bench(t *program) {
	quick := flag.Bool("quick", false, "take a few samples of everything as a test; writes nothing")
	only := flag.String("only", "", "comma-separated `sections` to run; writes nothing")
	binary := flag.String("kubelet", "bin/kubelet", "`path` of our own binary")
	flag.Parse()
	path, err := filepath.Abs(*binary)
	if err != nil {
		t.Fatalf("find our binary: %v", err)
	}
	bundle, err := filepath.Abs("host/runtime/embedded")
	parts, err2 := filepath.Abs(".cache/parts")
	if err := errors.Join(err, err2); err != nil {
		t.Fatalf("find the runtime and the control plane: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(stop)
	before := rig.Snapshot()
	// This runs last, after all other clean-ups.
	t.Cleanup(func() {
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	amounts := fullSizes
	if *quick {
		amounts = quickSizes
	}
	b := newBench(t, binaries{nodal: path, peer: os.Getenv("PEER_KUBELET"), bundle: bundle, parts: parts}, amounts)
	b.progress = os.Stderr
	if err := b.run(ctx, *only); err != nil {
		t.Fatalf("measure: %v", err)
	}
	fmt.Print(b.text())
	if *quick || *only != "" {
		return
	}
	text, err := b.document(lookAtMachine(ctx, b.binaries))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(documentPath, []byte(text), 0o644); err != nil {
		t.Fatalf("write the table: %v", err)
	}
}

// program lets a program use a rig, which is made for tests.
type program struct {
	testing.TB // provides the interface's private method
	cleanups   []func()
	code       int
}

func (p *program) Helper()          {}
func (p *program) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *program) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	p.code = 1
}

func (p *program) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit() // main waits, and clean runs on the way out
}

func (p *program) Skipf(format string, args ...any) { p.Fatalf(format, args...) }

func (p *program) clean() {
	for len(p.cleanups) > 0 {
		last := len(p.cleanups) - 1
		f := p.cleanups[last]
		p.cleanups = p.cleanups[:last]
		f()
	}
}
