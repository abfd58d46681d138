package csi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Clean removes the directories in which no volume is staged any more, from the directory of plugins on. It leaves what
// is staged: only the driver can take that away. It reports whether there is such a volume.
func Clean(dir string) (staged bool, err error) {
	staging := filepath.Join(dir, stagedIn)
	drivers, err := os.ReadDir(staging)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for the volumes of CSI drivers: %w", err)
	}
	for _, driver := range drivers {
		gone, err := removeEmpty(filepath.Join(staging, driver.Name()))
		if err != nil {
			return false, err
		}
		staged = staged || !gone
	}
	for ; staging != filepath.Dir(dir); staging = filepath.Dir(staging) {
		if _, err := removeEmpty(staging); err != nil {
			return false, err
		}
	}
	return staged, nil
}

// Staged reports whether Clean would leave a volume.
func Staged(dir string) (bool, error) {
	volumes, err := filepath.Glob(filepath.Join(dir, stagedIn, "*", "*"))
	return len(volumes) > 0, err
}

// removeEmpty removes a directory, unless something is in it.
func removeEmpty(dir string) (gone bool, err error) {
	err = os.Remove(dir)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY) {
		return false, nil
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, fmt.Errorf("remove the empty directory of a CSI driver: %w", err)
}
