package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// begin starts the program that holds a pod's namespaces, and waits until it
// does. hold/hold.c is its other side.
func (s *sandbox) begin(spec *specs.Spec) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	setup, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer tell.Close()
	told, report, err := os.Pipe()
	if err != nil {
		return errors.Join(err, setup.Close())
	}
	defer told.Close()
	keepFiles()
	s.pid, err = syscall.ForkExec(filepath.Join(filepath.Dir(program), "hold"), spec.Process.Args, &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{setup.Fd(), report.Fd(), report.Fd()},
		Sys: &syscall.SysProcAttr{Cloneflags: cloneFlags(spec.Linux.Namespaces), Setsid: true, PidFD: &s.file},
	})
	if err := errors.Join(err, setup.Close(), report.Close()); err != nil {
		return fmt.Errorf("start the program that holds the pod: %w", err)
	}
	if err := s.settle(spec); err != nil {
		return err
	}
	_, err = tell.Write(instructions(s.bundle, spec))
	if err := errors.Join(err, tell.Close()); err != nil {
		return fmt.Errorf("tell how to hold the pod: %w", err)
	}
	if err := told.SetReadDeadline(time.Now().Add(longest)); err != nil {
		return err
	}
	return readReport(told)
}

// keepFiles has no program inherit a file of the shim: it got its socket from
// containerd as one that every program would.
func keepFiles() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // a kernel before 5.11
		unix.CloseOnExec(3)
		unix.CloseOnExec(4)
	}
}

// settle puts the process where it belongs before it does anything.
func (s *sandbox) settle(spec *specs.Spec) error {
	if err := s.group.add(s.pid); err != nil {
		return err
	}
	if score := spec.Process.OOMScoreAdj; score != nil {
		path := filepath.Join("/proc", strconv.Itoa(s.pid), "oom_score_adj")
		return os.WriteFile(path, []byte(strconv.Itoa(*score)), 0o644)
	}
	return nil
}

// instructions writes what the program reads.
func instructions(bundle string, spec *specs.Spec) []byte {
	b := binary.NativeEndian.AppendUint32(nil, spec.Process.User.UID)
	b = binary.NativeEndian.AppendUint32(b, spec.Process.User.GID)
	network, root, name := "", spec.Root.Path, ""
	for _, n := range spec.Linux.Namespaces {
		switch n.Type {
		case specs.NetworkNamespace:
			network = n.Path
		case specs.UTSNamespace:
			name = spec.Hostname
		}
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(bundle, root)
	}
	// Containers that share process IDs see the process by the name of the image's program.
	texts := []string{filepath.Base(spec.Process.Args[0]), network, name, root}
	for _, key := range slices.Sorted(maps.Keys(spec.Linux.Sysctl)) {
		texts = append(texts, "/proc/sys/"+strings.ReplaceAll(key, ".", "/"), spec.Linux.Sysctl[key])
	}
	for _, text := range texts {
		b = append(append(b, text...), 0)
	}
	return b
}

// readReport returns once the pod is held, or tells the step that failed.
func readReport(from io.Reader) error {
	raw, err := io.ReadAll(from)
	switch {
	case err != nil:
		return fmt.Errorf("wait for the pod to be held: %w", err)
	case len(raw) == 0:
		return errors.New("the program that holds the pod has ended")
	case raw[0] != 0:
		return fmt.Errorf("%s: %w", raw[1:], syscall.Errno(raw[0]))
	}
	return nil
}
