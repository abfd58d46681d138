package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

func cpVerb() Verb {
	return Verb{
		Name: "cp", Words: "POD:PATH LOCAL | LOCAL POD:PATH", Short: "copy files from or into a container",
		Long: `The container needs tar. Into a directory that is there, the copy keeps its name. Links and devices from a container
are left out: it may not choose where on this machine files are written.`,
		Example: "kubelet cp web:/etc/hosts hosts\nkubelet cp site web:/srv",
		Bind: func(flags *pflag.FlagSet) action {
			var c copying
			flags.StringVarP(&c.namespace, "namespace", "n", "default", "`namespace`")
			flags.StringVarP(&c.container, "container", "c", "", "`container` (default: the first one)")
			return c.run
		},
	}
}

// copying is one call of cp.
type copying struct {
	intoContainer
	session *session
	pod     string
}

// inPod reads POD:PATH.
func inPod(word string) (pod, at string, ok bool) {
	pod, at, ok = strings.Cut(word, ":")
	return pod, at, ok && pod != "" && !strings.HasPrefix(pod, "/") && !strings.HasPrefix(pod, ".")
}

func (c *copying) run(ctx context.Context, s *session, words []string) error {
	if len(words) != 2 {
		return misuse("want what to copy, and where to")
	}
	fromPod, from, fromContainer := inPod(words[0])
	toPod, to, toContainer := inPod(words[1])
	if fromContainer == toContainer {
		return misuse("one of the two has to be POD:PATH, and the other a file of this machine")
	}
	if from == "" && fromContainer || to == "" && toContainer {
		return misuse("a path in the container is missing after the colon")
	}
	pod := toPod
	if fromContainer {
		pod = fromPod
	}
	var err error
	c.session = s
	if c.pod, c.container, err = c.find(ctx, s, pod); err != nil {
		return err
	}
	if fromContainer {
		return c.download(ctx, from, words[1])
	}
	return c.upload(ctx, words[0], to)
}

// command runs a command in the container. What it says goes into the error if it fails.
func (c *copying) command(ctx context.Context, in io.Reader, out io.Writer, command ...string) error {
	var says bytes.Buffer
	e := &execution{in: in, out: out, err: &limited{to: &says, left: 4 << 10}}
	code, err := e.run(ctx, c.session, &nodev1.ExecStart{
		Namespace: c.namespace, Name: c.pod, Container: c.container, Command: command, Stdin: in != nil,
	})
	where := "pod " + c.pod + ", container " + c.container
	switch {
	case ctx.Err() != nil:
		return exitError(interrupted)
	case err != nil:
		return fmt.Errorf("%s: run %s: %s; cp needs it in the image", where, command[0], c.session.explain(err))
	case code != 0:
		return failedCommand{fmt.Errorf("%s: %s: exit code %d: %s", where, command[0], code, strings.TrimSpace(says.String()))}
	}
	return nil
}

// failedCommand is a command that ran and ended with another code than 0.
type failedCommand struct{ error }

// limited writes the first bytes and drops the others.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(data []byte) (int, error) {
	n := min(len(data), l.left)
	l.left -= n
	if _, err := l.to.Write(data[:n]); err != nil {
		return 0, err
	}
	return len(data), nil
}

// download copies from the container.
func (c *copying) download(ctx context.Context, from, to string) error {
	dir, name := filepath.Split(filepath.Clean(to))
	from = path.Clean("/" + from)
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		dir, name = to, path.Base(from)
	}
	if dir == "" {
		dir = "."
	}
	if from == "/" {
		return misuse("copy a file or a directory of the container, not all of it")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := c.command(ctx, nil, writer, "tar", "cf", "-", "-C", path.Dir(from), "--", path.Base(from))
		writer.CloseWithError(err) // nil ends the file
		ended <- err
	}()
	err = unpack(reader, root, path.Base(from), name, c.session.note)
	reader.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if failed := <-ended; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

// upload copies into the container.
func (c *copying) upload(ctx context.Context, from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	dir, name := path.Split(path.Clean("/" + to))
	err := c.command(ctx, nil, io.Discard, "test", "-d", path.Clean("/"+to))
	switch {
	case err == nil:
		absolute, err := filepath.Abs(from) // "." has a name, too
		if err != nil {
			return err
		}
		dir, name = path.Clean("/"+to), filepath.Base(absolute)
	case !errors.As(err, new(failedCommand)):
		return err
	}
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(writer, from, name, c.session.note)
		writer.CloseWithError(err)
		packed <- err
	}()
	err = c.command(ctx, reader, io.Discard, "tar", "xf", "-", "-C", dir)
	reader.Close()
	if failed := <-packed; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}
