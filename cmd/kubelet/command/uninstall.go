package command

import (
	"context"
	"fmt"
	"io"

	"nodal/agent/config"
	"nodal/host/service"
)

// runUninstall undoes runInstall.
func runUninstall(args []string, c Console) int {
	cmd := installCommand{Console: c}
	flags := cmd.flags("uninstall")
	flags.BoolVar(&cmd.purge, "purge", false, "also remove pods, images, records and settings; the data of claims stay")
	flags.StringVar(&cmd.node, "root-dir", "",
		"with --purge: root `directory` of the node (default: from its settings)")
	return cmd.do("uninstall", args, flags, cmd.uninstall)
}

func (cmd *installCommand) uninstall(ctx context.Context) error {
	live := cmd.config.Root == ""
	if live && cmd.purge {
		if err := cmd.config.Unchanged(); cmd.node == "" && err != nil {
			return fmt.Errorf("%w; name the node's directory with --root-dir", err)
		}
		dirs, err := usedBy(service.Settings, service.Environment, cmd.node)
		if err != nil {
			return err
		}
		cmd.config.Clean = cleaning{dirs, cmd.Out}
	}
	steps, err := service.Uninstall(cmd.config, cmd.purge)
	if err != nil {
		return err
	}
	if err := cmd.take(ctx, steps); err != nil || !live || cmd.purge {
		return err
	}
	fmt.Fprintf(cmd.Out, "pods keep running; kubelet install manages them again, kubelet uninstall --purge removes them\n")
	return nil
}

// cleaning is the step that removes the node.
type cleaning struct {
	dirs config.Dirs
	out  io.Writer
}

var _ service.Step = cleaning{}

func (c cleaning) String() string               { return "clean " + c.dirs.Root }
func (c cleaning) Do(ctx context.Context) error { return clean(ctx, c.dirs, c.out) }

// usedBy returns the directories of the node that is started with these files, or of the node in a root
// directory. It fails rather than guess, because everything in them is removed.
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
	return config.Dirs{}, fmt.Errorf("find the node's directory: %w; name it with --root-dir", err)
}
