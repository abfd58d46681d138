package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	utilexec "k8s.io/utils/exec"

	"nodal/node"
)

// Command runs a command to its end. The exit code is no error.
type Command func(context.Context, node.Streams) (exit int32, err error)

// Wanted names the streams that a client asks for.
type Wanted struct{ Stdin, Stdout, Stderr, TTY bool }

// WantedIn reads upstream's parameters. With a terminal there is one output only.
func WantedIn(query url.Values) (Wanted, error) {
	is := func(name string) bool { return query.Get(name) == "1" || query.Get(name) == "true" }
	w := Wanted{
		Stdin: is(remotecommand.ExecStdinParam), Stdout: is(remotecommand.ExecStdoutParam),
		Stderr: is(remotecommand.ExecStderrParam), TTY: is(remotecommand.ExecTTYParam),
	}
	w.Stderr = w.Stderr && !w.TTY
	if !w.Stdin && !w.Stdout && !w.Stderr {
		return w, fmt.Errorf("you must specify at least 1 of stdin, stdout, stderr: %w", node.ErrInvalid)
	}
	return w, nil
}

var errGone = errors.New("the client has disconnected")

// Serve upgrades the request and runs the command with the client's streams. A client that
// goes away cancels the command's context. The runtime decides how the command then ends.
// A connection that carries nothing for the time idle is closed; zero means no limit.
func Serve(w http.ResponseWriter, r *http.Request, wanted Wanted, idle time.Duration, run Command) {
	if wsstream.IsWebSocketRequest(r) {
		overWebSocket(w, r, wanted, idle, run)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	w, r = watched{w, func() { cancel(errGone) }}, r.WithContext(ctx)
	options := &remotecommand.Options{Stdin: wanted.Stdin, Stdout: wanted.Stdout, Stderr: wanted.Stderr, TTY: wanted.TTY}
	remotecommand.ServeExec(w, r, spdy{run}, "", "", "", nil, options, idle,
		remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// spdy adapts a Command to the library.
type spdy struct{ run Command }

var _ remotecommand.Executor = spdy{}

// ExecInContainer runs the command. It ignores the names by which the library would find one.
func (s spdy) ExecInContainer(ctx context.Context, _, _, _ string, _ []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streams := node.Streams{TTY: tty}
	// They are not assigned as they are: an interface that holds nil is not nil.
	if in != nil {
		streams.Stdin = in
	}
	if out != nil {
		streams.Stdout = out
	}
	if err != nil {
		streams.Stderr = err
	}
	if tty {
		sizes := make(chan node.TerminalSize)
		streams.Resize = sizes
		go passSizes(ctx, resize, sizes)
	}
	exit, failed := s.run(ctx, streams)
	if context.Cause(ctx) == errGone {
		return nil // the client is gone, which is no failure
	}
	if why := revoked(ctx); why != nil {
		return why
	}
	if failed == nil && exit != 0 {
		return utilexec.CodeExitError{Err: errors.New("the command failed"), Code: int(exit)}
	}
	return failed
}

func passSizes(ctx context.Context, from <-chan remotecommand.TerminalSize, to chan<- node.TerminalSize) {
	defer close(to)
	for {
		select {
		case size, ok := <-from:
			if !ok {
				return
			}
			select {
			case to <- node.TerminalSize(size):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
