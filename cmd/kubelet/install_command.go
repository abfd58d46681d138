package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"nodal/agent/config"
	"nodal/host/service"
)

const installUsage = `Usage:
  kubelet install [flags]      let systemd run this program, now and after each boot
  kubelet uninstall [flags]    end that; pods run on, unless --purge takes them away too

Flags:
`

// installCommand makes this machine a node, or ends that.
type installCommand struct {
	console
	config service.Config
	dryRun bool
	purge  bool
	node   string // the root directory to purge; empty: what the settings say
}

func runInstall(args []string, c console) int {
	cmd := installCommand{console: c}
	return cmd.do("install", args, cmd.flags("install"), cmd.install)
}

func runUninstall(args []string, c console) int {
	cmd := installCommand{console: c}
	flags := cmd.flags("uninstall")
	flags.BoolVar(&cmd.purge, "purge", false, "take pods, images, journal and settings away too; the data of claims stay")
	flags.StringVar(&cmd.node, "root-dir", "", "with --purge: the `directory` that the agent was started with (default: what its settings say)")
	return cmd.do("uninstall", args, flags, cmd.uninstall)
}

func (cmd *installCommand) flags(name string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(cmd.err)
	flags.Usage = func() { fmt.Fprint(cmd.err, installUsage, flags.FlagUsages()) }
	flags.StringVar(&cmd.config.Root, "root", "", "`directory` that stands for /, to prepare another machine's files; nothing is started")
	flags.BoolVar(&cmd.dryRun, "dry-run", false, "print the steps only")
	return flags
}

func (cmd *installCommand) do(name string, args []string, flags *pflag.FlagSet, do func(context.Context) error) int {
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = noMore(flags.Args())
	}
	if err != nil {
		return misused(flags, cmd.console, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := do(ctx); err != nil {
		fmt.Fprintf(cmd.err, "kubelet %s: %v\n", name, err)
		return 1
	}
	return 0
}

func (cmd *installCommand) install(ctx context.Context) (err error) {
	if cmd.config.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	steps, err := service.Install(cmd.config)
	if err != nil {
		return err
	}
	if live := cmd.config.Root == ""; live { // another machine cannot be asked what it lacks
		args, err := agentArgs(service.Settings, service.Environment)
		if err != nil {
			return err
		}
		if runCheck(args, console{cmd.in, cmd.err, cmd.err}) != 0 {
			return errors.New("this machine cannot run pods as it is; nothing was changed")
		}
	}
	if err := cmd.take(ctx, steps); err != nil || cmd.dryRun || cmd.config.Root != "" {
		return err
	}
	fmt.Fprintf(cmd.out, afterInstall, config.DefaultSocket, service.Manifests, service.Settings)
	return nil
}

const afterInstall = `
The node is up. Root needs no token on its socket:
  curl --unix-socket %s http://node/v1/node
  kubelet images import app.tar
Pods are posted to /v1/manifests there, or their manifests are put into %s.
Settings are in %s, the log is journalctl -u kubelet.
`

func (cmd *installCommand) uninstall(ctx context.Context) error {
	live := cmd.config.Root == ""
	if live && cmd.purge {
		if err := cmd.config.Unchanged(); cmd.node == "" && err != nil {
			return fmt.Errorf("%w: name the node's directory with --root-dir", err)
		}
		dirs, err := usedBy(service.Settings, service.Environment, cmd.node)
		if err != nil {
			return err
		}
		cmd.config.Clean = cleaning{dirs, cmd.out}
	}
	steps, err := service.Uninstall(cmd.config, cmd.purge)
	if err != nil {
		return err
	}
	if err := cmd.take(ctx, steps); err != nil || !live || cmd.purge {
		return err
	}
	fmt.Fprintf(cmd.out, "pods run on; kubelet install takes over again, kubelet uninstall --purge takes them away\n")
	return nil
}

// cleaning is the step that takes the node away.
type cleaning struct {
	dirs config.Dirs
	out  io.Writer
}

var _ service.Step = cleaning{}

func (c cleaning) String() string               { return "clean " + c.dirs.Root }
func (c cleaning) Do(ctx context.Context) error { return clean(ctx, c.dirs, c.out) }

// agentArgs are what the unit starts the agent with, by files of its owner's.
func agentArgs(settings, environment string) ([]string, error) {
	var args []string
	if _, err := os.Stat(settings); err == nil {
		args = []string{"--config", settings}
	}
	flags, err := service.Flags(environment)
	return append(args, flags...), err
}

// usedBy are the directories of the node that is started with these files, or of the
// one in a root directory. Which it is must not be guessed: all of it goes.
func usedBy(settings, environment, root string) (config.Dirs, error) {
	args, err := agentArgs(settings, environment)
	if err == nil && root != "" {
		args = append(args, "--root-dir", root)
	}
	var cfg *config.Config
	if err == nil {
		cfg, err = config.Load(args)
	}
	switch {
	case err == nil:
		return cfg.Dirs, nil
	case root != "":
		return config.Dirs{Root: root, PodLogs: config.DefaultPodLogs}, nil
	}
	return config.Dirs{}, fmt.Errorf("find the node's directory, which --root-dir would name: %w", err)
}

// take prints each step before it is taken.
func (cmd *installCommand) take(ctx context.Context, steps []service.Step) error {
	for _, s := range steps {
		fmt.Fprintln(cmd.out, s)
		if cmd.dryRun {
			continue
		}
		if err := s.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
