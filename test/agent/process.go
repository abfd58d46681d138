package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"nodal/test/pace"
	"nodal/test/process"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
)

// Agent is one kubelet process, which may end and be started again.
type Agent struct {
	Config

	process process.Process
}

// New returns an agent that is not started yet.
func New(c Config) *Agent { return &Agent{Config: c} }

// Start runs the binary and waits until its API answers.
func (a *Agent) Start() error {
	if err := a.Launch(); err != nil {
		return err
	}
	return a.waitAnswer()
}

// Launch runs the binary and returns without waiting for its API.
func (a *Agent) Launch() error {
	args, err := a.write()
	if err != nil {
		return err
	}
	a.process = process.Process{
		Path: a.Binary, Args: args, Log: a.logPath(), Env: a.Env,
		// Ctrl-C goes to the program that runs the agent, not to the agent.
		Attr: &syscall.SysProcAttr{Setpgid: true},
	}
	return a.process.Start()
}

// Pid returns the process ID of the running agent.
func (a *Agent) Pid() int { return a.process.Pid() }

// Stop asks the agent to end and waits until it has.
func (a *Agent) Stop() error {
	if !a.process.Running() {
		return nil
	}
	if err := a.process.Stop(syscall.SIGTERM, pace.Of(stopTimeout)); err != nil {
		return fmt.Errorf("stop the agent: %w", err)
	}
	if code := a.process.Code(); code != 0 {
		return fmt.Errorf("stop the agent: it ended with code %d", code)
	}
	return nil
}

// Kill ends the agent with SIGKILL.
func (a *Agent) Kill() { a.process.Kill() }

// Wait waits for an agent that ends by itself and returns its exit code.
func (a *Agent) Wait(ctx context.Context) (int, error) { return a.process.Wait(ctx) }

// HTTP returns a client that connects to the agent's socket, whatever the host of a URL.
func (a *Agent) HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // no connection survives a restart
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
		case <-a.process.Ended():
			return a.process.Alive()
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

// Log returns the agent's log over all its starts.
func (a *Agent) Log() string {
	data, err := os.ReadFile(a.logPath())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// LogTail returns the end of the log.
func (a *Agent) LogTail() string { return a.process.LogTail() }
