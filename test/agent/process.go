package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"nodal/test/pace"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
)

// Agent is one kubelet process, which may be ended and started again.
type Agent struct {
	Config

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is no more
}

// New is an agent that does not run yet.
func New(c Config) *Agent { return &Agent{Config: c} }

// Start runs the binary and waits until its API answers.
func (a *Agent) Start() error {
	if err := a.Launch(); err != nil {
		return err
	}
	return a.waitAnswer()
}

// Launch runs the binary and does not wait for it.
func (a *Agent) Launch() error {
	args, err := a.write()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(a.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the agent's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(a.Binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	// A signal from the terminal is for who runs the agent, not for the agent.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", a.Binary, err)
	}
	a.cmd, a.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		cmd.Wait() // the process state keeps how it ended
		close(ended)
	}(a.ended)
	return nil
}

// Pid is the running process's.
func (a *Agent) Pid() int { return a.cmd.Process.Pid }

// Stop asks the agent to end and waits until it has.
func (a *Agent) Stop() error {
	if a.cmd == nil {
		return nil
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the agent: %w", err)
	}
	select {
	case <-a.ended:
	case <-time.After(pace.Of(stopTimeout)):
		a.Kill()
		return fmt.Errorf("stop the agent: it was still there after %s and was killed", pace.Of(stopTimeout))
	}
	code := a.cmd.ProcessState.ExitCode()
	a.cmd = nil
	if code != 0 {
		return fmt.Errorf("stop the agent: it ended with code %d", code)
	}
	return nil
}

// Kill ends the agent with SIGKILL.
func (a *Agent) Kill() {
	if a.cmd == nil {
		return
	}
	a.cmd.Process.Kill() // fails only if it is gone already
	<-a.ended
	a.cmd = nil
}

// Wait waits for an agent that ends by itself and returns its exit code.
func (a *Agent) Wait(ctx context.Context) (int, error) {
	select {
	case <-a.ended:
		code := a.cmd.ProcessState.ExitCode()
		a.cmd = nil
		return code, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the agent to end: %w", ctx.Err())
	}
}

// HTTP is a client that speaks to the agent's socket, whatever the host of a URL.
func (a *Agent) HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // it outlives no restart
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.Socket)
		},
	}}
}

func (a *Agent) waitAnswer() error {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(startTimeout))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := a.answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-a.ended:
			return fmt.Errorf("the agent ended by itself:\n%s", a.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("wait for the agent: %w", err)
		}
	}
}

func (a *Agent) answers(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/v1/node", nil)
	if err != nil {
		return err
	}
	response, err := a.HTTP().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /v1/node: %s", response.Status)
	}
	return nil
}

func (a *Agent) logPath() string { return filepath.Join(a.Dir, "agent.log") }

// Log returns the agent's log so far, over all its restarts.
func (a *Agent) Log() string {
	data, err := os.ReadFile(a.logPath())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// LogTail is the end of the log.
func (a *Agent) LogTail() string {
	log := a.Log()
	return log[max(0, len(log)-8000):]
}
