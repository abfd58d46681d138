package runtime

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nodal/host/replace"
)

//go:embed templates
var templates embed.FS

// settings are the inputs of containerd's configuration.
type settings struct {
	programs         programs
	sandboxImage     string
	systemdCgroup    bool
	restrictOOMScore bool
	cdiDirs          []string
}

// renderConfig writes containerd's configuration in the newest format that it reads: 2 until 1.7, 3 and 4 from 2.0 on.
func (l layout) renderConfig(s settings) ([]byte, error) {
	version := min(s.programs.configVersion, bundleConfigVersion)
	name, grpc, ttrpc := "containerd-3.toml", "grpc", "ttrpc"
	switch {
	case version < 3:
		name = "containerd-2.toml"
	case version > 3:
		grpc, ttrpc = `plugins."io.containerd.server.v1.grpc"`, `plugins."io.containerd.server.v1.ttrpc"`
	}
	values := map[string]string{
		"Version": strconv.Itoa(version), "GRPC": grpc, "TTRPC": ttrpc,
		"SystemdCgroup": strconv.FormatBool(s.systemdCgroup), "RestrictOOMScore": strconv.FormatBool(s.restrictOOMScore),
	}
	var dirs []string
	for _, dir := range s.cdiDirs {
		dirs = append(dirs, strconv.Quote(dir))
	}
	values["CDIDirs"] = strings.Join(dirs, ", ")
	for name, text := range map[string]string{
		"Root": l.content(), "State": l.tasks(), "Temp": l.temp(), "Opt": l.opt(),
		"Socket": l.socket(), "TTRPCSocket": l.socket() + ".ttrpc", "ShimSockets": l.shims(),
		"Registries": l.registries(), "Networks": l.networks(), "CNIPrograms": s.programs.cni,
		"Shim": s.programs.shim, "Runc": s.programs.runc, "RuncRoot": l.runc(), "SandboxImage": s.sandboxImage,
	} {
		values[name] = strconv.Quote(text)
	}
	return fill(name, values)
}

// fill puts values into the places of a template. It does without text/template, which calls methods by name: the
// linker keeps every method of a program that does so.
func fill(name string, values map[string]string) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name)
	if err != nil {
		return nil, fmt.Errorf("read the template of containerd's configuration: %w", err)
	}
	var unknown []string
	filled := os.Expand(string(text), func(name string) string {
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	if len(unknown) > 0 {
		return nil, fmt.Errorf("fill template %s: no value for %q", name, unknown)
	}
	return []byte(filled), nil
}

// writeConfig returns the path of the configuration. Its name is that of its content.
func (l layout) writeConfig(content []byte) (string, error) {
	path := l.config(shortDigest(content))
	if err := keep(path, content); err != nil {
		return "", fmt.Errorf("write containerd's configuration: %w", err)
	}
	return path, nil
}

// removeOldConfigs removes all configurations but the present one.
func (l layout) removeOldConfigs(present string) error {
	paths, err := filepath.Glob(l.config("*"))
	if err != nil {
		return fmt.Errorf("look for old configurations: %w", err)
	}
	for _, path := range paths {
		if path == present {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an old configuration: %w", err)
		}
	}
	return nil
}

// keep replaces a file only if that would change it.
func keep(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return replace.File(path, content, 0o600)
}

// systemdRules reports whether systemd owns the cgroups of this machine, so that others have to ask it for theirs.
func systemdRules() bool {
	var fs unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return false
	}
	return isDir(systemdRuns)
}

// systemdRuns is made by systemd when it is the first process.
const systemdRuns = "/run/systemd/system"

// mayLowerOOMScore reports whether a child of this process may lower its OOM score. Where it may not, no sandbox starts
// unless containerd is told not to try.
func mayLowerOOMScore() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	bounding, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	return err == nil && bounding == 1 && sets[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}
