package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// ExecSync runs a command in a container and collects what it prints. A timeout
// of zero is none; a command that it ends gives context.DeadlineExceeded. The
// command's exit code is no error.
func (r *Runtime) ExecSync(
	ctx context.Context, containerID string, cmd []string, timeout time.Duration,
) (stdout, stderr []byte, exit int32, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		// The runtime keeps time; this only catches one that does not answer.
		ctx, cancel = context.WithTimeout(ctx, timeout+r.config.RequestTimeout)
		defer cancel()
	}
	reply, err := r.runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
		ContainerId: containerID, Cmd: cmd, Timeout: int64((timeout + time.Second - 1) / time.Second),
	})
	if timeout > 0 && code(err) == codes.DeadlineExceeded && inTime(ctx) {
		return nil, nil, 0, fmt.Errorf("run a command in container %s within %s: %w", containerID, timeout, context.DeadlineExceeded)
	}
	if code(err) == codes.ResourceExhausted {
		return nil, nil, 0, fmt.Errorf("run a command in container %s: more than %d bytes of output, which exec would stream: %w", containerID, maxMessage, node.ErrTooLarge)
	}
	if err != nil {
		return nil, nil, 0, explain(err, "run a command in container "+containerID)
	}
	return reply.GetStdout(), reply.GetStderr(), reply.GetExitCode(), nil
}

// inTime reports whether the deadline of a context is still ahead. It asks the clock, not the context:
// the runtime knows the deadline too, and may report it before the context does.
func inTime(ctx context.Context) bool {
	deadline, bound := ctx.Deadline()
	return !bound || time.Now().Before(deadline)
}

// Exec runs a command in a container with its streams connected, until it ends.
// The command's exit code is no error.
func (r *Runtime) Exec(ctx context.Context, containerID string, cmd []string, s node.Streams) (exitCode int32, err error) {
	address, err := r.execURL(ctx, containerID, cmd, s)
	if err != nil {
		return 0, err
	}
	err = through(ctx, address, s)
	var exited utilexec.ExitError
	if errors.As(err, &exited) {
		return int32(exited.ExitStatus()), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run a command in container %s: %w", containerID, err)
	}
	return 0, nil
}

// Attach connects streams to what a container runs, until that ends. When the
// client goes away only the connection ends.
func (r *Runtime) Attach(ctx context.Context, containerID string, s node.Streams) error {
	address, err := r.attachURL(ctx, containerID, s)
	if err != nil {
		return err
	}
	if err := through(ctx, address, s); err != nil {
		return fmt.Errorf("attach to container %s: %w", containerID, err)
	}
	return nil
}

// through connects the streams to an address of the runtime until it ends them. No
// redirects: the runtime's word on where to go was checked, a web server's would not be.
func through(ctx context.Context, address *url.URL, s node.Streams) error {
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{})
	if err != nil {
		return fmt.Errorf("set up streams: %w", err)
	}
	executor, err := remotecommand.NewSPDYExecutorRejectRedirects(transport, upgrader, "POST", address)
	if err != nil {
		return fmt.Errorf("set up streams: %w", err)
	}
	options := remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Tty: s.TTY}
	if s.Resize != nil {
		options.TerminalSizeQueue = sizeQueue{ctx, s.Resize}
	}
	return executor.StreamWithContext(ctx, options)
}

func (r *Runtime) attachURL(ctx context.Context, containerID string, s node.Streams) (*url.URL, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.runtime.Attach(ctx, &runtimeapi.AttachRequest{
		ContainerId: containerID, Tty: s.TTY,
		Stdin: s.Stdin != nil, Stdout: s.Stdout != nil, Stderr: s.Stderr != nil && !s.TTY,
	})
	if err != nil {
		return nil, explain(err, "prepare to attach to container "+containerID)
	}
	return localURL(reply.GetUrl())
}

func (r *Runtime) execURL(ctx context.Context, containerID string, cmd []string, s node.Streams) (*url.URL, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.runtime.Exec(ctx, &runtimeapi.ExecRequest{
		ContainerId: containerID, Cmd: cmd, Tty: s.TTY,
		Stdin: s.Stdin != nil, Stdout: s.Stdout != nil, Stderr: s.Stderr != nil && !s.TTY,
	})
	if err != nil {
		return nil, explain(err, "prepare a command in container "+containerID)
	}
	return localURL(reply.GetUrl())
}

// localURL refuses a streaming server that is not on this machine: the streams
// are not encrypted.
func localURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the runtime's streaming address: %w", err)
	}
	ip := net.ParseIP(cmp.Or(address.Hostname(), "none"))
	if address.Scheme != "http" || address.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("the runtime's streaming address %q is not http on loopback: %w", address.Host, node.ErrUnsupported)
	}
	return address, nil
}

// sizeQueue hands terminal sizes to the stream until the command ends.
type sizeQueue struct {
	ctx   context.Context
	sizes <-chan node.TerminalSize
}

func (q sizeQueue) Next() *remotecommand.TerminalSize {
	select {
	case size, ok := <-q.sizes:
		if !ok {
			return nil
		}
		return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
	case <-q.ctx.Done():
		return nil
	}
}

// ReopenLog has the runtime open a container's log file anew after it was moved
// away.
func (r *Runtime) ReopenLog(ctx context.Context, containerID string) error {
	ctx, cancel := r.request(ctx)
	defer cancel()
	_, err := r.runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: containerID})
	if err != nil {
		return explain(err, "reopen the log of container "+containerID)
	}
	return nil
}
