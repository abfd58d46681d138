package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/host/csi"
	"nodal/host/device"
	"nodal/host/volume"
)

const dryRun = "--dry-run"

// withoutDryRun takes --dry-run out of a command line of the node's flags.
func withoutDryRun(args []string) (rest []string, dry bool) {
	rest = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == dryRun })
	return rest, len(rest) < len(args)
}

// planClean prints what clean would remove and what would stay, and changes nothing.
func planClean(dirs config.Dirs, out io.Writer) error {
	already, err := checkOurs(dirs.Root)
	if err != nil {
		return err
	}
	if already {
		fmt.Fprintln(out, "nothing to clean; other files stay in", dirs.Root)
		return nil
	}
	var plan bytes.Buffer
	if err := planPods(dirs, &plan); err != nil {
		return err
	}
	planFiles(dirs, &plan)
	if err := planVolumes(dirs, &plan); err != nil {
		return err
	}
	if plan.Len() == 0 {
		fmt.Fprintln(&plan, "there is nothing of a node in", dirs.Root)
	}
	_, err = plan.WriteTo(out)
	return err
}

// planPods tells of what cleanPods and cleanCgroups remove and leave.
func planPods(dirs config.Dirs, out io.Writer) error {
	pods := dirs.Pods()
	uids, err := volume.New(volume.Config{Pods: pods}).Own()
	if err != nil {
		return fmt.Errorf("look for pods: %w", err)
	}
	if len(uids) > 0 {
		fmt.Fprintf(out, "would end and remove %d pods with their logs and volumes, in %s and %s\n", len(uids), pods, dirs.PodLogs)
	}
	if mounts, err := cgroup.FindMounts(); err == nil {
		if left := cgroup.Left(podCgroups(mounts, dirs.Root)); len(left) > 0 {
			fmt.Fprintln(out, "would end the processes of pods and remove their cgroups:", strings.Join(left, ", "))
		}
	}
	entries, err := entriesOf(pods)
	if len(entries) > len(uids) {
		fmt.Fprintln(out, "files that the node did not create would stay in", pods)
	}
	return err
}

// planFiles tells of the files and directories that clean removes by their names.
func planFiles(dirs config.Dirs, out io.Writer) {
	tellThere(out, dirs.Root, slices.Concat([]string{"runtime"}, firstFiles(), lastFiles))
	tellThere(out, dirs.DevicePlugins(), device.OwnFiles())
	if entries, err := os.ReadDir(dirs.Plugins()); err == nil && len(entries) == 0 {
		fmt.Fprintln(out, "would remove the empty directory", dirs.Plugins())
	}
}

// tellThere names the files that are there.
func tellThere(out io.Writer, dir string, names []string) {
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err != nil
	})
	if len(names) > 0 {
		fmt.Fprintf(out, "would remove in %s: %s\n", dir, strings.Join(names, ", "))
	}
}

// planVolumes tells of what keepVolumes and keepStaged leave.
func planVolumes(dirs config.Dirs, out io.Writer) error {
	kept, err := entriesOf(dirs.LocalVolumes())
	if len(kept) > 0 {
		fmt.Fprintln(out, "the data of claims would stay in", dirs.LocalVolumes())
	}
	staged, unread := csi.Staged(dirs.Staging())
	if staged {
		fmt.Fprintln(out, "volumes would stay staged in", dirs.Staging()+": only their CSI drivers can take them away")
	}
	return errors.Join(err, unread)
}

// entriesOf returns what is in a directory, if there is such a directory.
func entriesOf(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for what would stay: %w", err)
	}
	return entries, nil
}
