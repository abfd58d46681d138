package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Clean removes the logs of pods with these UIDs and the links to them, all logs that
// were kept, and the directories of logs if they hold nothing else.
func (l Layout) Clean(uids []string) error {
	err := errors.Join(l.removePods(uids), l.SweepLinks())
	if l.Kept != nil {
		err = errors.Join(err, l.Kept.removeAll())
	}
	for _, dir := range []string{l.Pods, l.Links} {
		err = errors.Join(err, removeDir(dir))
	}
	return err
}

// removeDir removes an empty directory. A link, a file or a mount in its place belongs to the
// machine's owner, and stays.
func removeDir(dir string) error {
	switch err := syscall.Rmdir(dir); err {
	case nil, syscall.ENOENT, syscall.ENOTEMPTY, syscall.ENOTDIR, syscall.EBUSY:
		return nil
	default:
		return fmt.Errorf("remove %s: %w", dir, err)
	}
}

func (l Layout) removePods(uids []string) error {
	root, err := os.OpenRoot(l.Pods)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clean logs: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("clean logs: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		parts := strings.SplitN(entry.Name(), "_", 3) // as podDir joins them
		if !slices.Contains(uids, parts[len(parts)-1]) {
			continue
		}
		if err := root.RemoveAll(entry.Name()); err != nil {
			errs = append(errs, fmt.Errorf("clean logs: %w", err))
		}
	}
	return errors.Join(errs...)
}
