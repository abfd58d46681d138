package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sweep removes links to logs that are no longer there, such as an agent leaves that is killed between the two
// removals. Links to other places are not ours.
func (l Layout) Sweep() error {
	root, err := os.OpenRoot(l.Links)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep log links: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("sweep log links: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if entry.Type() != fs.ModeSymlink || !l.dangles(root, entry.Name()) {
			continue
		}
		if err := root.Remove(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("sweep log links: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (l Layout) dangles(root *os.Root, name string) bool {
	target, err := root.Readlink(name)
	if err != nil || !strings.HasPrefix(target, filepath.Clean(l.Pods)+"/") {
		return false
	}
	_, err = os.Lstat(target)
	return errors.Is(err, fs.ErrNotExist)
}
