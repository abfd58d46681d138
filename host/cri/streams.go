package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Streams talks to what runs: it runs commands in containers, and connects callers with them and with the ports of
// sandboxes.
type Streams struct {
	conn        *Conn
	log         *slog.Logger
	turns       turns // of commands that are being started, by container
	signalGroup func(leader uint32, signal syscall.Signal)
}

// NewStreams makes the Streams of a runtime.
func NewStreams(conn *Conn, log *slog.Logger) *Streams {
	return &Streams{conn: conn, log: log, signalGroup: signalGroup}
}

// ExecSync runs a command in a container and collects its output. A timeout of zero means none. ExecSync returns
// context.DeadlineExceeded for a command that the timeout ends. A command's exit code is no error.
func (s *Streams) ExecSync(
	ctx context.Context, containerID string, cmd []string, timeout time.Duration,
) (stdout, stderr []byte, exit int32, err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		// The runtime enforces the timeout; this is only for one that does not answer.
		ctx, cancel = context.WithTimeout(ctx, timeout+s.conn.timeout)
		defer cancel()
	}
	reply, err := s.conn.runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
		ContainerId: containerID, Cmd: cmd, Timeout: int64((timeout + time.Second - 1) / time.Second),
	})
	if timeout > 0 && code(err) == codes.DeadlineExceeded && inTime(ctx) {
		return nil, nil, 0, fmt.Errorf(
			"run a command in container %s within %s: %w", containerID, timeout, context.DeadlineExceeded)
	}
	if code(err) == codes.ResourceExhausted {
		return nil, nil, 0, fmt.Errorf(
			"run a command in container %s: more than %d bytes of output, which exec would stream: %w",
			containerID, maxMessage, node.ErrTooLarge)
	}
	if err != nil {
		return nil, nil, 0, explain(err, "run a command in container "+containerID)
	}
	return reply.GetStdout(), reply.GetStderr(), reply.GetExitCode(), nil
}

// inTime reports whether the deadline of a context is still ahead. It reads the clock, not the context: the runtime
// knows the deadline too, and may report it before the context does.
func inTime(ctx context.Context) bool {
	deadline, bound := ctx.Deadline()
	return !bound || time.Now().Before(deadline)
}

// Exec runs a command in a container with its streams connected, until it ends.
// The command's exit code is no error. When ctx ends, so does the command's process
// where the runtime is containerd; another runtime may let it run on.
func (s *Streams) Exec(
	ctx context.Context, containerID string, cmd []string, with node.Streams,
) (exitCode int32, err error) {
	address, err := s.execURL(ctx, containerID, cmd, with)
	if err != nil {
		return 0, err
	}
	process := s.watchStart(ctx, containerID, cmd)
	err = through(ctx, address, with)
	if ctx.Err() != nil {
		go s.end(process)
	} else {
		process.stop()
	}
	var exited utilexec.ExitError
	if errors.As(err, &exited) {
		return int32(exited.ExitStatus()), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run a command in container %s: %w", containerID, err)
	}
	return 0, nil
}

// Attach connects streams to the main process of a container until that ends. If the client goes away, only the
// connection ends.
func (s *Streams) Attach(ctx context.Context, containerID string, with node.Streams) error {
	address, err := s.attachURL(ctx, containerID, with)
	if err != nil {
		return err
	}
	if err := through(ctx, address, with); err != nil {
		return fmt.Errorf("attach to container %s: %w", containerID, err)
	}
	return nil
}

// through connects the streams to an address of the runtime until the runtime ends them. It follows no redirect: the
// address was checked, and that of a redirect would not be.
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
		options.TerminalSizeQueue = sizeQueue{s.Resize, ctx.Done()}
	}
	return executor.StreamWithContext(ctx, options)
}

func (s *Streams) attachURL(ctx context.Context, containerID string, with node.Streams) (*url.URL, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.runtime.Attach(ctx, &runtimeapi.AttachRequest{
		ContainerId: containerID, Tty: with.TTY,
		Stdin: with.Stdin != nil, Stdout: with.Stdout != nil, Stderr: with.Stderr != nil && !with.TTY,
	})
	if err != nil {
		return nil, explain(err, "prepare to attach to container "+containerID)
	}
	return localURL(reply.GetUrl())
}

func (s *Streams) execURL(ctx context.Context, containerID string, cmd []string, with node.Streams) (*url.URL, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.runtime.Exec(ctx, &runtimeapi.ExecRequest{
		ContainerId: containerID, Cmd: cmd, Tty: with.TTY,
		Stdin: with.Stdin != nil, Stdout: with.Stdout != nil, Stderr: with.Stderr != nil && !with.TTY,
	})
	if err != nil {
		return nil, explain(err, "prepare a command in container "+containerID)
	}
	return localURL(reply.GetUrl())
}

// localURL parses the address of a streaming server. It refuses one on another machine: the streams are not encrypted.
func localURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the runtime's streaming address: %w", err)
	}
	ip := net.ParseIP(cmp.Or(address.Hostname(), "none"))
	if address.Scheme != "http" || address.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf(
			"the runtime's streaming address %q is not http on loopback: %w", address.Host, node.ErrUnsupported)
	}
	return address, nil
}

// sizeQueue hands terminal sizes to the stream until the command ends.
type sizeQueue struct {
	sizes <-chan node.TerminalSize
	ended <-chan struct{}
}

func (q sizeQueue) Next() *remotecommand.TerminalSize {
	select {
	case size, ok := <-q.sizes:
		if !ok {
			return nil
		}
		return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
	case <-q.ended:
		return nil
	}
}
