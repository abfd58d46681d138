package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is one program with its arguments.
type Process struct {
	Path string
	Args []string
	Log  string               // path of the log
	Attr *syscall.SysProcAttr // nil: the defaults
	Env  []string             // besides this process's own

	cmd   *exec.Cmd     // nil while it does not run, as far as its owner knows
	ended chan struct{} // closed when the present run has ended
	code  int
}

// Start runs the program.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.Path, err)
	}
	defer log.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, p.Attr
	cmd.Env = append(os.Environ(), p.Env...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		cmd.Wait() // ProcessState keeps the result
		close(ended)
	}(p.ended)
	return nil
}

// Running reports whether the program was started, and none of Stop, Kill and Wait has seen its end.
func (p *Process) Running() bool { return p.cmd != nil }

// Pid returns the process ID of the present run.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended returns a channel that closes when the present run has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Code returns the exit code of the last run that Stop, Kill or Wait has seen the end of.
func (p *Process) Code() int { return p.code }

// Stop sends a signal and waits for the end. It kills a process that takes longer, and returns an
// error then. It does nothing if the program does not run.
func (p *Process) Stop(signal syscall.Signal, within time.Duration) error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.Path, err)
	}
	select {
	case <-p.ended:
		p.settle()
		return nil
	case <-time.After(within):
		p.Kill()
		return fmt.Errorf("%s was still there after %s and was killed", p.Path, within)
	}
}

// Kill ends the program with SIGKILL. It does nothing if the program does not run.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill() // it fails only if the process has ended
	<-p.ended
	p.settle()
}

// Wait waits for a program that ends by itself and returns its exit code.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.ended:
		p.settle()
		return p.code, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of %s: %w", p.Path, ctx.Err())
	}
}

func (p *Process) settle() {
	if p.cmd != nil {
		p.code, p.cmd = p.cmd.ProcessState.ExitCode(), nil
	}
}

// Alive returns an error with the end of the log if the program has ended by itself.
func (p *Process) Alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended by itself:\n%s", p.Path, p.LogTail())
	default:
		return nil
	}
}

// LogTail returns the end of the log.
func (p *Process) LogTail() string {
	const most = 8000
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
