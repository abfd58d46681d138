package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

// intoContainer holds the flags of verbs that talk to a process of a container.
type intoContainer struct {
	namespace, container string
	stdin, tty           bool
	detach               string
	keys                 []byte
}

func (i *intoContainer) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&i.namespace, "namespace", "n", "default", "`namespace`")
	flags.StringVarP(&i.container, "container", "c", "", "`container` (default: the first one)")
	flags.BoolVarP(&i.stdin, "stdin", "i", false, "pass standard input on")
	flags.BoolVarP(&i.tty, "tty", "t", false, "give it a terminal")
	flags.StringVar(&i.detach, "detach-keys", usualDetachKeys, "with -it: `keys` that leave the process; none if empty")
}

// find returns the pod and the name of the container that are meant.
func (i *intoContainer) find(ctx context.Context, s *session, word string) (pod, container string, err error) {
	if i.keys, err = keysOf(i.detach); err != nil {
		return "", "", err
	}
	name, err := onePod([]string{word})
	if err != nil {
		return "", "", err
	}
	p, err := s.existing(ctx, i.namespace, name)
	if err != nil {
		return "", "", err
	}
	container, err = containerOf(podOf(p), i.container)
	return name, container, err
}

func execVerb() Verb {
	return Verb{
		Name: "exec", Words: "POD -- COMMAND...", Short: "run a command in a container",
		Long:    "The exit code is that of the command. Ctrl-p ctrl-q leaves a command that was given the terminal with -it; most end without it.",
		Example: "kubelet exec -it web -- sh\nkubelet exec web -- cat /etc/hostname",
		Bind: func(flags *pflag.FlagSet) action {
			var to intoContainer
			to.bind(flags)
			return func(ctx context.Context, s *session, words []string) error {
				if flags.ArgsLenAtDash() != 1 || len(words) < 2 {
					return misuse("want POD, then -- and the command")
				}
				pod, container, err := to.find(ctx, s, words[0])
				if err != nil {
					return err
				}
				return to.exec(ctx, s, pod, container, words[1:])
			}
		},
	}
}

// exec runs a command on the streams of the session.
func (i *intoContainer) exec(ctx context.Context, s *session, pod, container string, command []string) error {
	t, err := i.openTerminal(s)
	if err != nil {
		return err
	}
	defer t.close()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c := &execution{in: i.input(s, t, leave), out: s.Out, err: s.Err, sizes: t.sizes}
	code, err := c.run(ctx, s, &nodev1.ExecStart{
		Namespace: i.namespace, Name: pod, Container: container, Command: command, Stdin: i.stdin, Tty: i.tty,
	})
	t.close()
	switch {
	case errors.Is(context.Cause(ctx), errDetached):
		s.left(pod)
		return nil
	case ctx.Err() != nil:
		return exitError(interrupted)
	case err != nil:
		return err
	case code != 0:
		return exitError(code)
	}
	return nil
}

// interrupted is the exit code of a command that the user has interrupted.
const interrupted = 130

// execution is a command in a container and the streams that it is on.
type execution struct {
	in       io.Reader // nil if it has no input
	out, err io.Writer
	sizes    <-chan *nodev1.TerminalSize
}

// run runs the command to its end and returns its exit code.
func (e *execution) run(ctx context.Context, s *session, start *nodev1.ExecStart) (int, error) {
	client, err := clientOf(s, nodev1.NewExecServiceClient)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Exec(ctx)
	if err != nil {
		return 0, err
	}
	if err := stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	feed(ctx, e.in, e.sizes, input{
		data: func(d []byte) error {
			return stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Stdin{Stdin: d}})
		},
		closed: func() error {
			return stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_StdinClosed{StdinClosed: true}})
		},
		size: func(size *nodev1.TerminalSize) error {
			return stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Resize{Resize: size}})
		},
	})
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, errors.New("the node ended the command without an exit code; whether it still runs, its pod shows")
		}
		if err != nil {
			return 0, err
		}
		switch out := m.GetOutput().(type) {
		case *nodev1.ExecResponse_Stdout:
			_, err = e.out.Write(out.Stdout)
		case *nodev1.ExecResponse_Stderr:
			_, err = e.err.Write(out.Stderr)
		case *nodev1.ExecResponse_ExitCode:
			return int(out.ExitCode), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// input sends what a process gets.
type input struct {
	data   func([]byte) error
	closed func() error
	size   func(*nodev1.TerminalSize) error
}

// feed sends input and sizes of the terminal until ctx ends. A failure to send shows where the answers are read.
func feed(ctx context.Context, in io.Reader, sizes <-chan *nodev1.TerminalSize, to input) {
	var lock sync.Mutex
	if in != nil {
		go func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := in.Read(buffer)
				if errors.Is(err, errDetached) {
					return // the process keeps its input
				}
				lock.Lock()
				if n > 0 && to.data(buffer[:n]) != nil || err != nil {
					_ = to.closed()
					lock.Unlock()
					return
				}
				lock.Unlock()
			}
		}()
	}
	if sizes == nil {
		return
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case size := <-sizes:
				lock.Lock()
				err := to.size(size)
				lock.Unlock()
				if err != nil {
					return
				}
			}
		}
	}()
}

func attachVerb() Verb {
	return Verb{
		Name: "attach", Words: "POD", Short: "connect to the main process of a container",
		Long: `Without -i it shows what the process writes from now on. It ends with the process, or with Ctrl-C unless -t is given. With
-it, ctrl-p ctrl-q leaves the process as it is.`,
		Example: "kubelet attach web\nkubelet attach -it console",
		Bind: func(flags *pflag.FlagSet) action {
			var to intoContainer
			to.bind(flags)
			return func(ctx context.Context, s *session, words []string) error {
				pod, container, err := to.find(ctx, s, strings.Join(words, " "))
				if err != nil {
					return err
				}
				ctx, leave := context.WithCancelCause(ctx)
				defer leave(nil)
				err = streamEnd(ctx, to.attach(ctx, s, pod, container, leave))
				if errors.Is(context.Cause(ctx), errDetached) {
					s.left(pod)
				}
				return err
			}
		},
	}
}

// attach connects the streams of the session with those of a process.
func (i *intoContainer) attach(ctx context.Context, s *session, pod, container string, leave context.CancelCauseFunc) error {
	t, err := i.openTerminal(s)
	if err != nil {
		return err
	}
	defer t.close()
	client, err := clientOf(s, nodev1.NewExecServiceClient)
	if err != nil {
		return err
	}
	stream, err := client.Attach(ctx)
	if err != nil {
		return err
	}
	start := &nodev1.AttachStart{Namespace: i.namespace, Name: pod, Container: container, Stdin: i.stdin}
	if err := stream.Send(&nodev1.AttachRequest{Input: &nodev1.AttachRequest_Start{Start: start}}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	feed(ctx, i.input(s, t, leave), t.sizes, input{
		data: func(d []byte) error {
			return stream.Send(&nodev1.AttachRequest{Input: &nodev1.AttachRequest_Stdin{Stdin: d}})
		},
		closed: func() error {
			return stream.Send(&nodev1.AttachRequest{Input: &nodev1.AttachRequest_StdinClosed{StdinClosed: true}})
		},
		size: func(size *nodev1.TerminalSize) error {
			return stream.Send(&nodev1.AttachRequest{Input: &nodev1.AttachRequest_Resize{Resize: size}})
		},
	})
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := s.Out.Write(m.GetStdout()); err != nil {
			return err
		}
		if _, err := s.Err.Write(m.GetStderr()); err != nil {
			return err
		}
	}
}
