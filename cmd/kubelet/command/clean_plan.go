package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nodal/agent/config"
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
	uids, err := volume.New(volume.Config{Pods: dirs.Pods()}).Own()
	if err != nil {
		return fmt.Errorf("look for pods: %w", err)
	}
	if len(uids) > 0 {
		fmt.Fprintf(out, "would end and remove %d pods with their logs and volumes, in %s and %s\n", len(uids), dirs.Pods(), dirs.PodLogs)
	}
	var there []string
	for _, name := range slices.Concat([]string{"runtime"}, ownFiles, lastFiles) {
		if _, err := os.Lstat(filepath.Join(dirs.Root, name)); err == nil {
			there = append(there, name)
		}
	}
	if len(there) > 0 {
		fmt.Fprintf(out, "would remove in %s: %s\n", dirs.Root, strings.Join(there, ", "))
	}
	kept, err := os.ReadDir(dirs.LocalVolumes())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for the data of claims: %w", err)
	}
	if len(kept) > 0 {
		fmt.Fprintln(out, "the data of claims would stay in", dirs.LocalVolumes())
	}
	if len(uids)+len(there)+len(kept) == 0 {
		fmt.Fprintln(out, "there is nothing of a node in", dirs.Root)
	}
	return nil
}
