package runtime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// programs are the parts of a runtime, by absolute paths.
type programs struct {
	containerd    string
	shim          string
	runc          string
	cni           string // the directory of the network plugins
	configVersion int    // the newest format that this containerd reads
}

// bundleConfigVersion is the newest format of the configuration that the bundle's containerd reads.
const bundleConfigVersion = 4

func plugins() []string { return []string{"bridge", "host-local", "loopback", "portmap"} }

// bundlePrograms names the programs of an unpacked bundle.
func bundlePrograms(dir string) programs {
	bin := filepath.Join(dir, "bin")
	return programs{
		containerd: filepath.Join(bin, "containerd"),
		shim:       filepath.Join(bin, "containerd-shim-runc-v2"),
		runc:       filepath.Join(bin, "runc"),
		cni:        filepath.Join(dir, "cni"), configVersion: bundleConfigVersion,
	}
}

// hostDirs are the directories with programs of the host.
type hostDirs struct {
	programs []string
	plugins  []string
}

func newHostDirs() hostDirs {
	return hostDirs{
		programs: append(fromPath(), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
		plugins:  []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"},
	}
}

// fromPath lists the directories of PATH, but for those that depend on where this process was started.
func fromPath() []string {
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// find looks for all the programs before it fails, so that its error names everything there is to install.
func (h hostDirs) find() (programs, error) {
	var p programs
	var missing []string
	for _, want := range []struct {
		name string
		to   *string
	}{{"containerd", &p.containerd}, {"containerd-shim-runc-v2", &p.shim}, {"runc", &p.runc}} {
		if *want.to = findProgram(want.name, h.programs); *want.to == "" {
			missing = append(missing, want.name)
		}
	}
	var lacks []string
	if p.cni, lacks = findPlugins(h.plugins); p.cni == "" {
		missing = append(missing, fmt.Sprintf("the CNI plugins %s (in one of %s)",
			strings.Join(lacks, ", "), strings.Join(h.plugins, ", ")))
	}
	if len(missing) > 0 {
		return programs{}, fmt.Errorf("no container runtime: this build brings none along, and the host lacks %s: "+
			"install them (Debian: containerd, runc, containernetworking-plugins), use a build with a bundle, "+
			"or name a runtime with --container-runtime-endpoint",
			strings.Join(missing, "; "))
	}
	return p, nil
}

func findProgram(name string, dirs []string) string {
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); runnable(path) {
			return path
		}
	}
	return ""
}

// findPlugins returns the first directory that has all plugins, or what the best one lacks: containerd takes only one
// directory.
func findPlugins(dirs []string) (dir string, lacks []string) {
	lacks = plugins()
	for _, dir := range dirs {
		var here []string
		for _, name := range plugins() {
			if !runnable(filepath.Join(dir, name)) {
				here = append(here, name)
			}
		}
		if len(here) == 0 {
			return dir, nil
		}
		if len(here) < len(lacks) {
			lacks = here
		}
	}
	return "", lacks
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// askConfigVersion runs a containerd that prints its default configuration. That names the format that it prefers.
func askConfigVersion(ctx context.Context, containerd string) (int, error) {
	cmd := exec.CommandContext(ctx, containerd, "config", "default")
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its configuration: %w", containerd, err)
	}
	version, err := configVersion(out)
	if err != nil {
		return 0, fmt.Errorf("read the configuration of %s: %w", containerd, err)
	}
	return version, nil
}

func configVersion(config []byte) (int, error) {
	lines := bufio.NewScanner(bytes.NewReader(config))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if ok && strings.TrimSpace(key) == "version" {
			version, err := strconv.Atoi(strings.TrimSpace(value))
			if err == nil && version < 2 {
				err = fmt.Errorf("version %d is too old: containerd 1.6 is the oldest that works", version)
			}
			return version, err
		}
	}
	return 0, errors.Join(errors.New("it names no version"), lines.Err())
}
