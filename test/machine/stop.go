package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"

	"nodal/test/pace"
)

// stopWait limits how long the kernel may take to end a machine's processes.
const stopWait = 30 * time.Second

// Stop ends the machine and removes what there is of it: the kernel kills its processes with the first of them, and its
// mounts and its network go with the last.
func (m *Machine) Stop() error {
	if m.boot != nil && m.boot.Process != nil {
		m.boot.Process.Kill() // it fails only if the process has ended
		m.boot.Wait()         // it reports the signal as an error
	}
	if err := m.removeCgroups(); err != nil {
		return fmt.Errorf("stop machine %s: %w", m.Name, err)
	}
	if err := os.RemoveAll(m.Dir); err != nil {
		return fmt.Errorf("stop machine %s: %w", m.Name, err)
	}
	return nil
}

// removeCgroups waits until no process is in the machine's cgroups any more, and removes them.
func (m *Machine) removeCgroups() error {
	roots, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return fmt.Errorf("find its cgroups: %w", err)
	}
	deadline := time.Now().Add(pace.Of(stopWait))
	for _, root := range roots {
		dir := filepath.Join(root.Mountpoint, m.group())
		for {
			err := removeTree(dir)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("remove its cgroups: %w", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// removeTree removes a cgroup with all below it.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		if e := os.Remove(dir); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
