package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"nodal/agent/config"
	"nodal/agent/ownruntime"
)

// Console holds the standard streams of a verb.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
}

// verbs are the verbs by their word. Each returns the exit code of the process.
var verbs = map[string]func(args []string, c Console) int{
	"audit":                  runAudit,
	"certificate":            runCertificate,
	"check":                  runCheck,
	"clean":                  runClean,
	"fleet":                  runFleet,
	"images":                 runImages,
	"install":                runInstall,
	"key":                    runKey,
	"kubeconfig":             runKubeconfig,
	"token":                  runToken,
	"ui":                     runUI,
	"uninstall":              runUninstall,
	ownruntime.UnpackCommand: runUnpack,
}

// Run runs the verb that args begin with and returns its exit code. It reports false if args begin with no verb.
func Run(args []string, c Console) (code int, found bool) {
	if len(args) == 0 {
		return 0, false
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return 0, false
	}
	return verb(args[1:], c), true
}

// misused prints the fault of a command line and the usage of its verb.
func misused(flags *pflag.FlagSet, c Console, err error) int {
	fmt.Fprintf(c.Err, "kubelet %s: %v\n\n", flags.Name(), err)
	flags.Usage()
	return 2
}

// noMore refuses words after the flags of a verb that takes none.
func noMore(words []string) error {
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q", words[0])
}

// loadFor reads the agent's own flags for a verb about the agent's node. It returns nil and an exit code if
// there is nothing more to do.
func loadFor(verb string, args []string, c Console) (*config.Config, int) {
	cfg, err := config.Load(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprintf(c.Out, "Usage: kubelet %s [flags of the node's kubelet]\n", verb)
		return nil, 0
	case err != nil:
		fmt.Fprintf(c.Err, "kubelet %s: %v\n", verb, err)
		return nil, 2
	}
	return cfg, 0
}
