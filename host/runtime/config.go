package runtime

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/template"

	"golang.org/x/sys/unix"
)

//go:embed templates
var templates embed.FS

// settings is what the configuration of containerd depends on.
type settings struct {
	programs         programs
	sandboxImage     string
	systemdCgroup    bool
	restrictOOMScore bool
}

// renderConfig writes the configuration of containerd in the newest format that
// it reads: 2 until 1.7, 3 and 4 from 2.0 on.
func (l layout) renderConfig(s settings) ([]byte, error) {
	name := "containerd-3.toml.tmpl"
	if s.programs.configVersion < 3 {
		name = "containerd-2.toml.tmpl"
	}
	text, err := template.New(name).Funcs(template.FuncMap{"quote": strconv.Quote}).ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse the template of containerd's configuration: %w", err)
	}
	var out bytes.Buffer
	err = text.Execute(&out, map[string]any{
		"Version": min(s.programs.configVersion, bundleConfigVersion), "Root": l.content(), "State": l.tasks(), "Temp": l.temp(), "Opt": l.opt(),
		"Socket": l.socket(), "TTRPC": l.socket() + ".ttrpc", "ShimSockets": l.shims(),
		"Registries": l.registries(), "Networks": l.networks(), "CNIPrograms": s.programs.cni,
		"Shim": s.programs.shim, "Runc": s.programs.runc, "RuncRoot": l.runc(),
		"SandboxImage": s.sandboxImage, "SystemdCgroup": s.systemdCgroup, "RestrictOOMScore": s.restrictOOMScore,
	})
	if err != nil {
		return nil, fmt.Errorf("render containerd's configuration: %w", err)
	}
	return out.Bytes(), nil
}

// writeConfig returns the path of the configuration, whose name tells its
// content apart from every other one.
func (l layout) writeConfig(content []byte) (string, error) {
	path := l.config(shortDigest(content))
	if err := replaceFile(path, content); err != nil {
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

// replaceFile writes a file whole, and only if it would change.
func replaceFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// systemdRules reports whether systemd owns the cgroups of this machine: then
// others have to ask it for theirs.
func systemdRules() bool {
	var fs unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return false
	}
	info, err := os.Lstat("/run/systemd/system") // made by systemd when it is the first process
	return err == nil && info.IsDir()
}

// mayLowerOOMScore reports whether a child of ours may lower the score by which
// the kernel picks what to kill. Without that no sandbox starts, unless
// containerd is told not to try.
func mayLowerOOMScore() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	bounding, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	return err == nil && bounding == 1 && sets[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}
