package machine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Facts describe a machine.
type Facts struct {
	Kernel, OSImage, Arch string
	IDs                   IDs
	Booted                time.Time
	AppArmor              bool     // the kernel enforces its profiles
	Swaps                 bool     // there is swap
	HugePages             []string // their sizes, as the kernel's cgroups have them: 2MB, 1GB
	Throttles             []string // of the processors, in /sys
	Subuid, Subgid        string   // the files of ids that the owner has set aside; empty if there are none
}

// IDs tell this machine from others. Each is empty if the machine does not have it.
type IDs struct{ Machine, Boot, System string }

// Look reads the facts of the machine whose files lie in root.
func Look(root fs.FS, now time.Time) (f Facts, err error) {
	f = Facts{
		Arch: runtime.GOARCH, OSImage: osImage(root), AppArmor: enforcesAppArmor(root),
		IDs: IDs{
			Machine: first(root, "etc/machine-id", "var/lib/dbus/machine-id"),
			Boot:    first(root, "proc/sys/kernel/random/boot_id"),
			System:  first(root, "sys/class/dmi/id/product_uuid", "proc/device-tree/vm,uuid", "etc/machine-id"),
		},
	}
	release, err := fs.ReadFile(root, "proc/sys/kernel/osrelease")
	if err != nil {
		return f, fmt.Errorf("ask for the kernel's version: %w", err)
	}
	f.Kernel = strings.TrimSpace(string(release))
	if f.Booted, err = booted(root, now); err != nil {
		return f, err
	}
	resources, err := Resources(root)
	if err != nil {
		return f, err
	}
	f.Swaps = resources.Swap > 0
	for _, pages := range resources.HugePages {
		f.HugePages = append(f.HugePages, inKernel(pages))
	}
	throttles, err := fs.Glob(root, "sys/devices/system/cpu/cpu*/thermal_throttle")
	if err != nil {
		return f, fmt.Errorf("look for the processors' heat: %w", err)
	}
	for _, path := range throttles {
		f.Throttles = append(f.Throttles, "/"+path)
	}
	f.Subuid, f.Subgid, err = subordinateIDs(root)
	return f, err
}

// booted returns when the machine started.
func booted(root fs.FS, now time.Time) (time.Time, error) {
	text, err := fs.ReadFile(root, "proc/uptime")
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the machine's start: %w", err)
	}
	seconds, _, _ := strings.Cut(string(text), ".")
	up, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the machine's start from %q: %w", text, err)
	}
	return now.Add(-time.Duration(up) * time.Second), nil
}

// subordinateIDs returns the files of users and groups that the machine's owner has set aside.
func subordinateIDs(root fs.FS) (users, groups string, err error) {
	var files [2]string
	for i, path := range [...]string{"etc/subuid", "etc/subgid"} {
		text, err := fs.ReadFile(root, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("look for pods' users: %w", err)
		}
		files[i] = string(text)
	}
	return files[0], files[1], nil
}

// first returns the content of the first file that is there.
func first(root fs.FS, paths ...string) string {
	for _, path := range paths {
		if text, err := fs.ReadFile(root, path); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// osImage returns the name of the distribution.
func osImage(root fs.FS) string {
	text, err := fs.ReadFile(root, "etc/os-release")
	if err != nil {
		return "unknown"
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return "unknown"
}

func enforcesAppArmor(root fs.FS) bool {
	return strings.HasPrefix(first(root, "sys/module/apparmor/parameters/enabled"), "Y")
}
