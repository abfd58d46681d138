package rig

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk puts containerd's images and containers on a file system of this many bytes, which a test
// can fill.
func Disk(bytes int64) Option { return func(r *Runtime) { r.disk = bytes } }

// DiskDir returns where that file system is mounted.
func (r *Runtime) DiskDir() string {
	if r.bundle != "" {
		return filepath.Join(r.Dir, "runtime", "containerd")
	}
	return filepath.Join(r.Dir, "root")
}

// mountDisk mounts that file system. It is unmounted with all other mounts in the rig's directory.
func (r *Runtime) mountDisk() error {
	if r.disk == 0 {
		return nil
	}
	err := os.MkdirAll(r.DiskDir(), 0o711)
	if err == nil {
		err = unix.Mount("tmpfs", r.DiskDir(), "tmpfs", 0, fmt.Sprintf("size=%d,mode=711", r.disk))
	}
	if err != nil {
		return fmt.Errorf("mount a disk for containerd: %w", err)
	}
	return nil
}
