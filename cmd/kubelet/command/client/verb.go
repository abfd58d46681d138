package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// Console holds the standard streams of a verb.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
}

// Verb is one verb of the command line. Old verbs parse for themselves, with Raw; the others have Bind.
type Verb struct {
	Name    string
	Words   string // which words it takes, as its usage shows them
	Short   string // what it does, in a line
	Long    string // what more there is to know
	Example string
	Bind    func(flags *pflag.FlagSet) action
	Raw     func(args []string, c Console) int
	Alone   bool // it works without a node
	Hidden  bool // it is not for people
}

// action runs a verb with the words that are left of its command line.
type action func(ctx context.Context, s *session, words []string) error

// session is one call of a verb: its streams and its node.
type session struct {
	Console
	reach reach
	dialled
}

// usageError is a fault of the command line.
type usageError struct{ error }

// misuse makes a fault of the command line.
func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError ends the process with a code of the verb's own.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the verb that args begin with and returns its exit code. It reports false if args begin with no word.
func Run(verbs []Verb, args []string, c Console) (code int, found bool) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return 0, false
	}
	if args[0] == "help" {
		return help(verbs, args[1:], c), true
	}
	v, ok := verbNamed(verbs, args[0])
	if !ok {
		return unknownVerb(verbs, args[0], c), true
	}
	if v.Raw != nil {
		return v.runRaw(args[1:], c), true
	}
	return v.run(args[1:], c), true
}

// runRaw runs a verb that parses for itself. Help that was asked for goes to standard output.
func (v Verb) runRaw(args []string, c Console) int {
	if len(args) != 1 || args[0] != "--help" && args[0] != "-h" {
		return v.Raw(args, c)
	}
	c.Err = c.Out
	code := v.Raw(args, c)
	if v.Example != "" {
		fmt.Fprintf(c.Out, "\nExample:\n%s\n", indented(v.Example))
	}
	return code
}

func verbNamed(verbs []Verb, name string) (Verb, bool) {
	for _, v := range verbs {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

// run parses the flags of a verb, runs it and returns the exit code.
func (v Verb) run(args []string, c Console) int {
	s := &session{Console: c}
	flags := v.flags()
	do := v.Bind(flags)
	if !v.Alone {
		s.reach.bind(flags)
	}
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		v.usage(c.Out)
		return 0
	}
	if err != nil {
		err = usageError{Nearest(flags, err)}
	} else {
		s.reach.node.given, s.reach.socket.given = flags.Changed("node"), flags.Changed("socket")
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		defer s.close()
		err = do(ctx, s, flags.Args())
	}
	return v.end(s, err)
}

// flags makes the set of a verb's flags.
func (v Verb) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet(v.Name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {} // the caller of Parse prints it
	return flags
}

// end says how a verb has ended and returns the exit code.
func (v Verb) end(s *session, err error) int {
	var code exitError
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &wrong):
		fmt.Fprintf(s.Err, "kubelet %s: %s\n\nUsage:\n  %s\n\nkubelet %s --help shows the flags and an example.\n",
			v.Name, printable(wrong.Error()), v.synopsis(), v.Name)
		return 2
	}
	fmt.Fprintf(s.Err, "kubelet %s: %s\n", v.Name, printable(s.explain(err)))
	return 1
}
