package client

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	nodev1 "nodal/api/gen/node/v1"
)

// rawTerminal is the user's terminal while a process of a container has it.
type rawTerminal struct {
	sizes <-chan *nodev1.TerminalSize // nil without a terminal
	undo  func()
}

// openTerminal gives the user's terminal to the process, if one is wanted and there is one. Then the keys go to the process,
// Ctrl-C too.
func (i *intoContainer) openTerminal(s *session) (*rawTerminal, error) {
	none := &rawTerminal{undo: func() {}}
	if !i.tty {
		return none, nil
	}
	descriptor, ok := terminal(s.In)
	if !ok || !i.stdin {
		return none, nil
	}
	before, err := term.MakeRaw(descriptor)
	if err != nil {
		return nil, err
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	changed <- unix.SIGWINCH // the size at first
	sizes := make(chan *nodev1.TerminalSize, 1)
	go func() {
		for range changed {
			width, height, err := term.GetSize(descriptor)
			if err != nil {
				continue
			}
			select {
			case <-sizes: // an older size that was not taken
			default:
			}
			sizes <- &nodev1.TerminalSize{Width: uint32(width), Height: uint32(height)}
		}
	}()
	return &rawTerminal{sizes: sizes, undo: sync.OnceFunc(func() {
		signal.Stop(changed)
		close(changed)
		_ = term.Restore(descriptor, before)
	})}, nil
}

// close gives the terminal back to the user.
func (t *rawTerminal) close() { t.undo() }

// input returns what the process reads. On a terminal, keys of it leave the process.
func (i *intoContainer) input(s *session, t *rawTerminal, leave context.CancelCauseFunc) io.Reader {
	switch {
	case !i.stdin:
		return nil
	case t.sizes == nil || len(i.keys) == 0:
		return s.In
	}
	return &detacher{in: s.In, keys: i.keys, leave: func() { leave(errDetached) }}
}
