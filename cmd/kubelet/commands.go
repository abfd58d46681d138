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
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/host/cri"
	"nodal/host/journal"
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

// misused says what is wrong with a command line, and how the command is used.
func misused(flags *pflag.FlagSet, c console, err error) int {
	fmt.Fprintf(c.err, "kubelet %s: %v\n\n", flags.Name(), err)
	flags.Usage()
	return 2
}

// noMore is for a command that its flags say everything to.
func noMore(words []string) error {
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q", words[0])
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.DiscardHandler)
	if cfg.Runtime.Endpoint != "" {
		return report([]hostruntime.Finding{checkEndpoint(ctx, cfg.Runtime, log)}, c.out)
	}
	return report(hostruntime.Check(ctx, ownRuntimeConfig(cfg, log)), c.out)
}

// endpointWait is how long a runtime may take to answer the check.
const endpointWait = 5 * time.Second

// checkEndpoint asks a runtime whether it is there: what it needs of the machine is for
// itself to know.
func checkEndpoint(ctx context.Context, r config.Runtime, log *slog.Logger) hostruntime.Finding {
	found := hostruntime.Finding{Name: "runtime", Required: true, Remedy: "start it, or name another one with --container-runtime-endpoint"}
	client, err := cri.Dial(cri.Config{Endpoint: r.Endpoint, ImageEndpoint: r.ImageEndpoint, RequestTimeout: endpointWait}, log)
	if err == nil {
		defer client.Close()
		_, err = client.Status(ctx)
	}
	if found.OK = err == nil; err != nil {
		found.Problem = err.Error()
	}
	return found
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

// ownFiles are the files and directories of a node's root directory that the agent
// made and that nothing but itself uses; what its owner put there stays.
var ownFiles = []string{"credentials", "image_manager", "images", "pki"}

// lastFiles are those by which a later try knows the node, so they go last.
var lastFiles = []string{"secrets.key", "journal"}

// runClean is "kubelet clean": nothing of the node is left on the machine.
func runClean(args []string, c console) int {
	cfg, code := loadFor("clean", args, c)
	if cfg == nil {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := clean(ctx, cfg.Dirs, c.out); err != nil {
		fmt.Fprintln(c.err, "kubelet clean:", err)
		return 1
	}
	return 0
}

// clean goes on after a failure, so that what is stuck keeps only itself, and the journal
// for another try. The journal's lock, where there is a journal, keeps the node's agent
// from starting until that goes.
func clean(ctx context.Context, dirs config.Dirs, out io.Writer) error {
	already, err := checkOurs(dirs.Root)
	if err != nil {
		return err
	}
	if already {
		fmt.Fprintln(out, "nothing of a node is left: what is there stays in", dirs.Root)
		return nil
	}
	unlock, err := journal.Lock(journalDir(dirs.Root))
	if err != nil {
		return fmt.Errorf("stop the node's agent first: %w", err)
	}
	defer unlock()
	if err := errors.Join(
		hostruntime.Clean(ctx, hostruntime.Config{RootDir: dirs.Root}),
		cleanCgroups(ctx, dirs.Root),
		cleanPods(ctx, dirs, out),
		keepVolumes(dirs.Root, out),
		remove(dirs.Root, ownFiles),
	); err != nil {
		return err
	}
	return errors.Join(remove(dirs.Root, lastFiles), removeUnlessUsed(dirs.Root))
}

// checkOurs refuses a root directory in which something is and nothing says that it is a
// node's of ours: another kubelet's has much in it by the same names. What is in a clean
// one is people's, and no kubelet's. Where there is no directory any more, the rest of
// the machine may still hold what the node has left.
func checkOurs(root string) (clean bool, err error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("look into the root directory: %w", err)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return slices.Contains(names, e.Name()) })
	}
	switch {
	case len(entries) == 0 || has("journal", "runtime"):
		return false, nil
	case has("pods", "pki"): // no kubelet has run, or has joined a cluster, without
		return false, fmt.Errorf("%s has neither a journal nor a runtime directory, so it is no node of this program's, or is clean: "+
			"nothing was removed; name the node's directory with --root-dir", root)
	}
	return true, nil
}

// cleanPods removes what is kept for pods. Their directories go last and only if all
// else went: they say which pods there were, and what is mounted below them is not
// the node's to remove. Those that it has not made stay.
func cleanPods(ctx context.Context, dirs config.Dirs, out io.Writer) error {
	pods := filepath.Join(dirs.Root, "pods")
	volumes := volume.New(volume.Config{Pods: pods})
	uids, err := volumes.Own()
	if err == nil {
		err = filesOf(dirs).logs.Clean(uids) // a pod has a directory for as long as it has logs
	}
	if err == nil {
		err = volumes.Sweep(ctx, func(types.UID) bool { return false })
	}
	if err == nil {
		err = removeUnlessUsed(pods)
	}
	if left, unread := os.ReadDir(pods); err == nil && unread == nil && len(left) > 0 {
		fmt.Fprintln(out, "what the node has not made stays in", pods)
	}
	return err
}

// keepVolumes leaves the data of claims, which are people's, and says where.
func keepVolumes(root string, out io.Writer) error {
	dir := localVolumes(root)
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look for the data of claims: %w", err)
	case len(entries) == 0:
		return removeUnlessUsed(dir)
	}
	if elsewhere, err := filepath.EvalSymlinks(dir); err == nil {
		dir = elsewhere
	}
	fmt.Fprintln(out, "the data of claims stay in", dir)
	return nil
}

func remove(root string, names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, removeAll(filepath.Join(root, name)))
	}
	return errors.Join(errs...)
}

// removeAll removes what is in a place, and the place unless something is mounted there.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if left, unread := os.ReadDir(path); errors.Is(err, syscall.EBUSY) && unread == nil && len(left) == 0 {
		return nil
	}
	return err
}

// removeUnlessUsed removes a directory. It stays if its owner has files there, or has
// mounted something.
func removeUnlessUsed(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY) {
		return nil
	}
	return err
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
