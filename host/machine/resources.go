package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nodal/node/admit"
)

// Resources reads what the machine whose files lie in root has, except for CPUs and disks.
func Resources(root fs.FS) (admit.Machine, error) {
	m := admit.Machine{PIDs: mostProcesses(root), HugePages: hugePages(root)}
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("ask for the machine's memory: %w", err)
	}
	for name, into := range map[string]*int64{"MemTotal": &m.Memory, "SwapTotal": &m.Swap} {
		if *into, err = kilobytes(text, name); err != nil {
			return m, fmt.Errorf("ask for the machine's memory: %w", err)
		}
	}
	return m, nil
}

// kilobytes finds an amount of /proc/meminfo and returns it in bytes.
func kilobytes(meminfo []byte, name string) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		amount, ok := strings.CutPrefix(lines.Text(), name+":")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(amount, "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s of /proc/meminfo: %w", name, err)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("/proc/meminfo has no %s", name)
}

// mostProcesses returns the lesser of the kernel's bounds on tasks, or zero if the kernel does not say.
func mostProcesses(root fs.FS) int64 {
	var most int64
	for _, name := range []string{"pid_max", "threads-max"} {
		n, err := strconv.ParseInt(first(root, "proc/sys/kernel/"+name), 10, 64)
		if err == nil && (most == 0 || n < most) {
			most = n
		}
	}
	return most
}

// DiskSize returns the bytes of the file system that a directory lies on.
func DiskSize(dir string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("ask for the size of the file system of %s: %w", dir, err)
	}
	return int64(disk.Blocks) * disk.Bsize, nil
}
