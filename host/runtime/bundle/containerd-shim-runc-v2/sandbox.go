package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// heldName is the file in a bundle that says that no runc knows the container.
const heldName = "held"

// sandbox is a pod whose namespaces a process of this shim holds.
type sandbox struct {
	pid    int
	file   int // stands for the process, whose ID is used again
	bundle string
	group  group
}

func (f *front) sandbox(id string) *sandbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sandboxes[id]
}

// create holds a pod open, if it is one whose needs are known here. When that
// fails, runc does it, or says why not.
func (f *front) create(c command) error {
	spec, err := readSpec(c.bundle)
	if err != nil || c.systemd || c.console || !holdable(spec) {
		return errRunc
	}
	s, err := hold(c, spec)
	if err != nil {
		logrus.WithError(err).WithField("id", c.id()).Warn("failed to hold a pod open: runc is asked to")
		return errRunc
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes[c.id()] = s
	return nil
}

func readSpec(bundle string) (*specs.Spec, error) {
	raw, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, err
	}
	spec := &specs.Spec{}
	return spec, json.Unmarshal(raw, spec)
}

// hold makes the cgroup of a pod's sandbox, and a process in it that holds the
// pod's namespaces.
func hold(c command, spec *specs.Spec) (held *sandbox, err error) {
	if err := os.WriteFile(filepath.Join(c.bundle, heldName), nil, 0o600); err != nil {
		return nil, err
	}
	s := &sandbox{bundle: c.bundle, file: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.undo())
		}
	}()
	if s.group, err = groupAt(spec.Linux.CgroupsPath); err != nil {
		return nil, err
	}
	if err := s.group.make(); err != nil {
		return nil, err
	}
	if err := s.begin(spec); err != nil {
		return nil, err
	}
	return s, os.WriteFile(c.pidFile, []byte(strconv.Itoa(s.pid)), 0o644)
}

// undo leaves nothing that would be in the way of runc.
func (s *sandbox) undo() error {
	_ = s.signal(unix.SIGKILL) // it may have ended by itself
	return errors.Join(s.close(), os.Remove(filepath.Join(s.bundle, heldName)))
}

// close removes what is left of a sandbox whose process has been told to end.
func (s *sandbox) close() error {
	err := s.group.remove()
	if s.file >= 0 {
		err = errors.Join(err, unix.Close(s.file))
		s.file = -1
	}
	return err
}

func (s *sandbox) signal(signal unix.Signal) error {
	if s.file < 0 {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(s.file, signal, nil, 0)
}

func (f *front) kill(c command) error {
	s := f.sandbox(c.id())
	if s == nil {
		return errRunc
	}
	number := int(unix.SIGTERM)
	if len(c.args) > 1 {
		var err error
		if number, err = strconv.Atoi(c.args[1]); err != nil {
			return fmt.Errorf("unknown signal %q", c.args[1])
		}
	}
	if err := s.signal(unix.Signal(number)); errors.Is(err, unix.ESRCH) {
		return errors.New("container not running")
	} else if err != nil {
		return fmt.Errorf("signal the sandbox: %w", err)
	}
	return nil
}

// remove forgets a sandbox. A new shim does it for one that is dead, and finds
// the sandbox by its bundle.
func (f *front) remove(c command) error {
	s := f.sandbox(c.id())
	if s == nil {
		return removeLeft(filepath.Dir(c.log))
	}
	_ = s.signal(unix.SIGKILL) // it has ended, mostly
	if err := s.close(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sandboxes, c.id())
	return nil
}

// removeLeft ends the sandbox of a dead shim.
func removeLeft(bundle string) error {
	if _, err := os.Stat(filepath.Join(bundle, heldName)); err != nil {
		return errRunc
	}
	spec, err := readSpec(bundle)
	if err != nil {
		return err
	}
	g, err := groupAt(spec.Linux.CgroupsPath)
	if err != nil {
		return err
	}
	return errors.Join(g.kill(), g.remove())
}

// list answers which processes a sandbox has.
func (f *front) list(c command, out io.Writer) error {
	s := f.sandbox(c.id())
	if s == nil {
		return errRunc
	}
	processes := []int{}
	if !errors.Is(s.signal(0), unix.ESRCH) {
		processes = append(processes, s.pid)
	}
	return json.NewEncoder(out).Encode(processes)
}
