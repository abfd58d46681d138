package runtime

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is an entry of the kernel's process table.
type process struct {
	pid  int
	args []string
}

// processes lists all processes but kernel threads.
func processes() []process {
	var all []process
	for _, pid := range pids() {
		raw, err := os.ReadFile(procPath(pid, "cmdline"))
		if err != nil || len(raw) == 0 {
			continue
		}
		args := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
		all = append(all, process{pid: pid, args: args})
	}
	return all
}

// sees reports whether a process finds the same file at a path as this one does, or none as this one does.
func (p process) sees(path string) bool {
	ours, err := os.Stat(path)
	its, unseen := os.Stat(procPath(p.pid, "root"+path))
	if err != nil || unseen != nil { // files that this process may not look at count as the same
		return errors.Is(err, fs.ErrNotExist) == errors.Is(unseen, fs.ErrNotExist)
	}
	return os.SameFile(ours, its)
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range entries {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// executable returns the path of the file that a process runs, even if the file was replaced since.
func executable(pid int) string {
	path, err := os.Readlink(procPath(pid, "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// executables lists the files that processes run.
func executables() []string {
	var paths []string
	for _, pid := range pids() {
		if path := executable(pid); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
