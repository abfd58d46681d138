package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/containerd/go-runc"
)

// errRunc has runc carry out a command.
var errRunc = errors.New("a command for runc")

// front stands where the shim starts runc, and carries some of the commands out
// itself.
type front struct {
	runc.ProcessMonitor
	mu        sync.Mutex
	sandboxes map[string]*sandbox
	answers   map[chan runc.Exit]bool
}

var _ runc.ProcessMonitor = (*front)(nil)

func newFront(behind runc.ProcessMonitor) *front {
	return &front{ProcessMonitor: behind, sandboxes: map[string]*sandbox{}, answers: map[chan runc.Exit]bool{}}
}

func (f *front) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	if err := f.do(cmd); !errors.Is(err, errRunc) {
		return f.answer(cmd, err), nil
	}
	return f.ProcessMonitor.Start(cmd)
}

func (f *front) StartLocked(cmd *exec.Cmd) (chan runc.Exit, error) {
	if err := f.do(cmd); !errors.Is(err, errRunc) {
		return f.answer(cmd, err), nil
	}
	return f.ProcessMonitor.StartLocked(cmd)
}

func (f *front) Wait(cmd *exec.Cmd, exits chan runc.Exit) (int, error) {
	f.mu.Lock()
	own := f.answers[exits]
	delete(f.answers, exits)
	f.mu.Unlock()
	if !own {
		return f.ProcessMonitor.Wait(cmd, exits)
	}
	exit := <-exits
	return exit.Status, nil
}

// answer tells how a command has ended, as the end of a process would.
func (f *front) answer(cmd *exec.Cmd, err error) chan runc.Exit {
	exit := runc.Exit{}
	if err != nil {
		exit.Status = 1
		if cmd.Stderr != nil {
			fmt.Fprintln(cmd.Stderr, err)
		}
	}
	exits := make(chan runc.Exit, 1)
	exits <- exit
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[exits] = true
	return exits
}

// do carries out a command of runc, or returns errRunc.
func (f *front) do(cmd *exec.Cmd) error {
	c, ok := readCommand(cmd.Args[1:])
	if !ok {
		return errRunc
	}
	switch c.verb {
	case "create":
		return f.create(c)
	case "start":
		return f.start(c)
	case "kill":
		return f.kill(c)
	case "delete":
		return f.remove(c)
	case "ps":
		return f.list(c, cmd.Stdout)
	}
	return errRunc
}

// command is a command line of runc.
type command struct {
	root, log, verb  string
	bundle, pidFile  string
	systemd, console bool
	args             []string
}

// readCommand reads the command lines that the shim writes.
func readCommand(args []string) (c command, ok bool) {
	values := map[string]*string{
		"--root": &c.root, "--log": &c.log, "--log-format": new(string), "--format": new(string),
		"--bundle": &c.bundle, "--pid-file": &c.pidFile,
	}
	for i := 0; i < len(args); i++ {
		value, takes := values[args[i]]
		switch {
		case takes && i+1 < len(args):
			i++
			*value = args[i]
		case args[i] == "--systemd-cgroup":
			c.systemd = true
		case strings.HasPrefix(args[i], "--console-socket"):
			c.console = true
		case strings.HasPrefix(args[i], "--"): // does not matter to what is done here
		case c.verb == "":
			c.verb = args[i]
		default:
			c.args = append(c.args, args[i])
		}
	}
	return c, len(c.args) > 0
}

// id returns the container of a command: its first argument.
func (c command) id() string { return c.args[0] }
