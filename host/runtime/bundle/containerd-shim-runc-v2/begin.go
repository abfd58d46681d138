package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is the time, in milliseconds, after which a look tells whether a
// container that does not begin is still there.
const patience = 100

// longest bounds what the shim does for one request: meanwhile the container can
// be neither looked at nor killed.
const longest = time.Minute

// start lets a container that was created begin. Its first process waits for a
// reader of a pipe, which runc would be.
func (f *front) start(c command) error {
	if f.sandbox(c.id()) != nil {
		return nil // it runs since it was created
	}
	pipe := filepath.Join(c.root, c.id(), "exec.fifo")
	pid, err := readPid(filepath.Join(filepath.Dir(c.log), "init.pid"))
	if err != nil {
		return errRunc
	}
	file, err := unix.Open(pipe, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return errRunc // it began before, or was never created: runc knows the words
	}
	defer unix.Close(file)
	if err := awaitBegin(file, pid); err != nil {
		return err
	}
	if err := os.Remove(pipe); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the pipe of a container that has begun: %w", err)
	}
	return nil
}

// awaitBegin waits until the process has written to the pipe and closed it: the
// kernel does so when the process becomes the container's program.
func awaitBegin(pipe, pid int) error {
	var data [16]byte
	wrote := false
	for end := time.Now().Add(longest); time.Now().Before(end); {
		poll := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, patience); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the container to begin: %w", err)
		}
		// A process that has died meanwhile has written before, or never will.
		ended := poll[0].Revents&unix.POLLHUP != 0 || poll[0].Revents == 0 && !alive(pid)
		n, err := unix.Read(pipe, data[:])
		switch {
		case n > 0:
			wrote = true
		case err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for the container to begin: %w", err)
		case ended && wrote:
			return nil
		case ended:
			return errors.New("container process is already dead")
		}
	}
	return fmt.Errorf("the container did not begin within %s", longest)
}

// alive reports whether a process has not ended. A zombie has.
func alive(pid int) bool {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ") // a name may contain anything
	return state != "" && state[0] != 'Z' && state[0] != 'X'
}

func readPid(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(raw)))
}
