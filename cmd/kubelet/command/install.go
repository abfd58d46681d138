package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"nodal/cmd/kubelet/command/client"
	"nodal/host/service"
)

const installUsage = `Usage:
  kubelet install [flags]      install as a systemd service and start it
  kubelet uninstall [flags]    remove the service; pods keep running, unless --purge is given

Flags:
`

// installCommand installs and uninstalls the systemd service of the node.
type installCommand struct {
	Console
	config service.Config
	dryRun bool
	purge  bool
	node   string // the root directory to purge; empty means the one of the settings
}

// runInstall makes this machine a node.
func runInstall(args []string, c Console) int {
	cmd := installCommand{Console: c}
	return cmd.do("install", args, cmd.flags("install"), cmd.install)
}

// flags returns the flags that install and uninstall share.
func (cmd *installCommand) flags(name string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(cmd.Err)
	flags.Usage = func() { fmt.Fprint(cmd.Err, installUsage, flags.FlagUsages()) }
	flags.StringVar(&cmd.config.Root, "root", "",
		"`directory` to use as /, to prepare the files of another machine; nothing is started")
	flags.BoolVar(&cmd.dryRun, "dry-run", false, "print the steps without taking them")
	return flags
}

// do parses the command line and runs the command. Manual pages of others are known by the mark of ours.
func (cmd *installCommand) do(
	name string, args []string, flags *pflag.FlagSet, do func(context.Context) error,
) int {
	cmd.config.Mark = client.ManMark
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = noMore(flags.Args())
	}
	if err != nil {
		return misused(flags, cmd.Console, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := do(ctx); err != nil {
		fmt.Fprintf(cmd.Err, "kubelet %s: %v\n", name, err)
		return 1
	}
	return 0
}

func (cmd *installCommand) install(ctx context.Context) (err error) {
	if cmd.config.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd.config.Pages = client.ManPages(verbs())
	steps, err := service.Install(cmd.config)
	if err != nil {
		return err
	}
	if live := cmd.config.Root == ""; live { // the check works on the present machine only
		args, err := agentArgs(service.Settings, service.Environment)
		if err != nil {
			return err
		}
		if runCheck(args, Console{In: cmd.In, Out: cmd.Err, Err: cmd.Err}) != 0 {
			return errors.New("this machine cannot run pods yet; nothing was changed; follow the remedies above")
		}
	}
	if err := cmd.take(ctx, steps); err != nil || cmd.dryRun || cmd.config.Root != "" {
		return err
	}
	fmt.Fprintf(cmd.Out, afterInstall, service.Manifests, service.Settings)
	return nil
}

const afterInstall = `
The node is up. Root needs no token on its socket:
  nodal get nodes
  nodal images import app.tar
To run a pod: nodal apply -f pod.yaml, or put its manifest into %s. nodal help lists what there is more.
Settings: %s. Log: journalctl -u kubelet.
`

// agentArgs returns the arguments that the unit starts the agent with, according to its owner's files.
func agentArgs(settings, environment string) ([]string, error) {
	var args []string
	if _, err := os.Stat(settings); err == nil {
		args = []string{"--config", settings}
	}
	flags, err := service.Flags(environment)
	return append(args, flags...), err
}

// take prints and takes each step.
func (cmd *installCommand) take(ctx context.Context, steps []service.Step) error {
	for _, s := range steps {
		fmt.Fprintln(cmd.Out, s)
		if cmd.dryRun {
			continue
		}
		if err := s.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
