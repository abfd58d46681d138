package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/types"

	"nodal/cmd/kubelet/config"
	hostruntime "nodal/host/runtime"
	"nodal/host/runtime/embedded"
	"nodal/host/volume"
)

// commands are what the binary does besides being the agent, by their first word.
var commands = map[string]func(args []string, c console) int{
	"check":       runCheck,
	"clean":       runClean,
	"images":      runImages,
	"install":     runInstall,
	"uninstall":   runUninstall,
	"ui":          runUI,
	unpackCommand: runUnpack,
}

// versions are the agent's, and those of the programs that it brings along.
func versions() string {
	text := "nodal kubelet " + version
	_, index, ok := embedded.Bundle()
	if !ok {
		return text + " (no container runtime inside)"
	}
	var bundle struct{ Versions map[string]string }
	if err := json.Unmarshal(index, &bundle); err != nil {
		return text + " (its container runtime cannot be read: " + err.Error() + ")"
	}
	var brought []string
	for _, name := range []string{"containerd", "runc", "cni"} {
		brought = append(brought, name+" "+bundle.Versions[name])
	}
	return text + " with " + strings.Join(brought, ", ")
}

// runCheck is "kubelet check": what this machine lacks to run containers.
func runCheck(args []string, c console) int {
	cfg, code := loadFor("check", args, c)
	if cfg == nil {
		return code
	}
	own, err := ownRuntimeConfig(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(c.err, "kubelet check:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return report(hostruntime.Check(ctx, own), c.out)
}

// report prints a line for each finding, and what to do about those that fail.
func report(findings []hostruntime.Finding, out io.Writer) (code int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		switch {
		case f.OK:
			fmt.Fprintf(table, "ok\t%s\n", f.Name)
		case f.Required:
			code = 1
			fmt.Fprintf(table, "FAILED\t%s\t%s; %s\n", f.Name, f.Problem, f.Remedy)
		default:
			fmt.Fprintf(table, "warning\t%s\t%s; %s\n", f.Name, f.Problem, f.Remedy)
		}
	}
	if err := table.Flush(); err != nil {
		return 1
	}
	return code
}

// made are the files and directories of a node's root directory that the agent
// made; what its owner put there stays.
var made = []string{"credentials", "image_manager", "images", "journal", "pki", "pods", "runtime", "secrets.key"}

// runClean is "kubelet clean": nothing of the node is left on the machine.
func runClean(args []string, c console) int {
	cfg, code := loadFor("clean", args, c)
	if cfg == nil {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := clean(ctx, cfg.Dirs); err != nil {
		fmt.Fprintln(c.err, "kubelet clean:", err)
		return 1
	}
	return 0
}

func clean(ctx context.Context, dirs config.Dirs) error {
	root := dirs.Root
	if err := hostruntime.Clean(ctx, hostruntime.Config{RootDir: root}); err != nil {
		return err
	}
	if err := cleanCgroups(ctx, root); err != nil {
		return err
	}
	if err := cleanLogs(dirs); err != nil {
		return err
	}
	// What is mounted for pods is not the node's to remove.
	volumes := volume.New(volume.Config{Pods: filepath.Join(root, "pods")})
	if err := volumes.Sweep(ctx, func(types.UID) bool { return false }); err != nil {
		return err
	}
	return removeMade(root)
}

// cleanLogs removes the logs of the node's pods. Each has a directory of files for as
// long as it has logs.
func cleanLogs(dirs config.Dirs) error {
	entries, err := os.ReadDir(filepath.Join(dirs.Root, "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for pods: %w", err)
	}
	var uids []string
	for _, e := range entries {
		uids = append(uids, e.Name())
	}
	return filesOf(dirs).logs.Clean(uids)
}

func removeMade(root string) error {
	var errs []error
	for _, name := range made {
		errs = append(errs, os.RemoveAll(filepath.Join(root, name)))
	}
	// It stays if its owner has files there.
	if err := os.Remove(root); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// loadFor reads the agent's own flags for a command about the agent's node.
func loadFor(command string, args []string, c console) (*config.Config, int) {
	cfg, err := config.Load(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprintf(c.out, "Usage: kubelet %s [the flags that the agent is started with]\n", command)
		return nil, 0
	case err != nil:
		fmt.Fprintf(c.err, "kubelet %s: %v\n", command, err)
		return nil, 2
	}
	return cfg, 0
}
