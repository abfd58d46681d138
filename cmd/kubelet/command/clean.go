package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/agent/ownruntime"
	"nodal/host/cgroup"
	"nodal/host/checkpoint"
	"nodal/host/csi"
	"nodal/host/device"
	"nodal/host/journal"
	"nodal/host/logs"
	"nodal/host/runtime"
	"nodal/host/volume"
)

// ownFiles are the files and directories below a node's root directory that the agent alone makes and uses.
// Files that the machine's owner put there stay.
var ownFiles = []string{
	"audit", "cordon.json", "credentials", "graceful_node_shutdown_state", "history", "image_manager", "images", "node-addresses", "pki",
	"pod-resources", "pods-api", "secrets.key.next", "secrets.key.old",
}

// lastFiles mark a root directory as a node's. They go last, so that a later try still finds the node.
var lastFiles = []string{"secrets.key", "journal"}

// firstFiles are the agent's own files that go before the last ones.
func firstFiles() []string { return slices.Concat(checkpoint.Files(), ownFiles) }

const cleanUsage = `It removes the node of these flags from this machine: its pods with their logs and volumes, its own container runtime with its
images, its records, keys and tokens. The data of claims stays, and so do files that the node has not made. The kubelet has to be
stopped first. There is no way back. "kubelet --help" lists the flags.

      --dry-run   print what would be removed and what would stay, and change nothing
`

// runClean removes the node from the machine.
func runClean(args []string, c Console) int {
	args, dry := withoutDryRun(args)
	cfg, code := loadFor("clean", cleanUsage, args, c)
	if cfg == nil {
		return code
	}
	if dry {
		if err := planClean(cfg.Dirs, c.Out); err != nil {
			fmt.Fprintln(c.Err, "kubelet clean:", err)
			return 1
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := clean(ctx, cfg.Dirs, c.Out); err != nil {
		fmt.Fprintln(c.Err, "kubelet clean:", err)
		return 1
	}
	return 0
}

// clean removes a node. It goes on after a failure, so that a part that is stuck keeps only itself and the
// journal, for another try. The journal's lock keeps the node's agent from starting meanwhile.
func clean(ctx context.Context, dirs config.Dirs, out io.Writer) error {
	already, err := checkOurs(dirs.Root)
	if err != nil {
		return err
	}
	if already {
		fmt.Fprintln(out, "nothing to clean; other files stay in", dirs.Root)
		return nil
	}
	unlock, err := journal.Lock(dirs.Journal())
	if err != nil {
		return fmt.Errorf("lock the journal: %w; stop the kubelet first", err)
	}
	defer unlock()
	if err := errors.Join(
		ownruntime.Clean(ctx, dirs),
		cleanCgroups(ctx, dirs.Root),
		cleanPods(ctx, dirs, out),
		keepVolumes(dirs.LocalVolumes(), out),
		keepStaged(dirs.Staging(), out),
		removeUnlessUsed(dirs.Plugins()), // sockets in it belong to plugins
		cleanDevices(dirs.DevicePlugins()),
		remove(dirs.Root, firstFiles()),
	); err != nil {
		return err
	}
	return errors.Join(remove(dirs.Root, lastFiles), removeUnlessUsed(dirs.Root))
}

// cleanDevices removes the node's own files from the directory of device plugins. Sockets in it belong to plugins.
func cleanDevices(dir string) error {
	return errors.Join(remove(dir, device.OwnFiles()), removeUnlessUsed(dir))
}

// checkOurs refuses the root directory of another program, which may have much in it by the same names: another
// kubelet's pods, systemd's /var/log/journal. It reports a directory as clean if it holds no kubelet's files. A
// directory that is empty or gone is not clean yet: the rest of the machine may still hold parts of the node.
func checkOurs(root string) (clean bool, err error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the root directory: %w", err)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return slices.Contains(names, e.Name()) })
	}
	ours := len(entries) == 0
	for name, isOurs := range map[string]func(dir string) (bool, error){"journal": journal.Is, "runtime": runtime.Is} {
		if !has(name) {
			continue
		}
		dir := filepath.Join(root, name)
		if ours, err = isOurs(dir); err != nil {
			return false, err
		}
		if !ours {
			return false, fmt.Errorf("%s has files of another program, so %s is not a directory of a Nodal node; "+
				"nothing was removed; name the node's directory with --root-dir", dir, root)
		}
	}
	switch {
	case ours:
		return false, nil
	case has("pods", "pki"): // every kubelet that ran, or joined a cluster, has left these
		return false, fmt.Errorf("%s is not a directory of a Nodal node, or is clean already: it has neither journal nor runtime; "+
			"nothing was removed; name the node's directory with --root-dir", root)
	}
	return true, nil
}

// cleanCgroups removes the cgroups of pods of the agent's own containerd. Pods below a cgroup that the
// configuration names may be another node's, so those stay.
func cleanCgroups(ctx context.Context, root string) error {
	mounts, err := cgroup.FindMounts()
	if err != nil {
		return nil // a machine without cgroups has none to remove
	}
	return cgroup.Clean(ctx, podCgroups(mounts, root))
}

func podCgroups(mounts cgroup.Mounts, root string) cgroup.Config {
	return cgroup.Config{Mounts: mounts, Name: ownruntime.PodCgroup(root)}
}

// cleanPods removes the logs and directories of pods. The directories go last, and only if the rest went:
// they name the pods. Directories that the node has not made stay.
func cleanPods(ctx context.Context, dirs config.Dirs, out io.Writer) error {
	pods := dirs.Pods()
	volumes := volume.New(volume.Config{Pods: pods})
	layout := logs.Layout{
		Pods: dirs.PodLogs, Links: dirs.LogLinks(), Kept: logs.NewKept(dirs.PodLogs, runtime.ID(dirs.Root), slog.New(slog.DiscardHandler)),
	}
	uids, err := volumes.Own()
	if err == nil {
		err = layout.Clean(uids) // a pod has a directory for as long as it has logs
	}
	if err == nil {
		err = volumes.Sweep(ctx, func(types.UID) bool { return false })
	}
	if err == nil {
		err = removeUnlessUsed(pods)
	}
	if left, unread := os.ReadDir(pods); err == nil && unread == nil && len(left) > 0 {
		fmt.Fprintln(out, "files that the node did not create stay in", pods)
	}
	return err
}

// keepVolumes leaves the data of claims, which belong to users, and prints their directory.
func keepVolumes(dir string, out io.Writer) error {
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
	fmt.Fprintln(out, "the data of claims stays in", dir)
	return nil
}

// keepStaged leaves the volumes that CSI drivers have staged, and prints their directory.
func keepStaged(dir string, out io.Writer) error {
	staged, err := csi.Clean(dir)
	if staged {
		fmt.Fprintln(out, "volumes stay staged in", dir+": only their CSI drivers can take them away")
	}
	return err
}

// remove removes files and directories below a root directory.
func remove(root string, names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, removeAll(filepath.Join(root, name)))
	}
	return errors.Join(errs...)
}

// removeAll removes a directory with its content. A mount point is emptied and stays.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if left, unread := os.ReadDir(path); errors.Is(err, syscall.EBUSY) && unread == nil && len(left) == 0 {
		return nil
	}
	return err
}

// removeUnlessUsed removes a directory, unless it holds files or is a mount point.
func removeUnlessUsed(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY) {
		return nil
	}
	return err
}
