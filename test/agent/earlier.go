package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Earlier returns the path of the kubelet of an earlier commit. It is built once, below .cache.
func Earlier(commit string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "earlier", commit, "kubelet")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("build the kubelet of %s: %w", commit, err)
	}
	source, err := os.MkdirTemp("", "nodal-earlier-")
	if err != nil {
		return "", fmt.Errorf("build the kubelet of %s: %w", commit, err)
	}
	defer os.RemoveAll(source)
	if err := unpack(root, commit, source); err != nil {
		return "", err
	}
	made := filepath.Join(source, "kubelet")
	build := exec.Command("go", "build", "-trimpath", "-o", made, "./cmd/kubelet")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the kubelet of %s: %w\n%s", commit, err, out)
	}
	return path, moveInto(made, path)
}

// unpack writes the files of a commit into dir.
func unpack(root, commit, dir string) error {
	script := `git -C "$1" archive "$2" | tar -x -C "$3"`
	command := exec.Command("bash", "-e", "-o", "pipefail", "-c", script, "unpack", root, commit, dir)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack commit %s: %w: %s; fetch the whole history", commit, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// moveInto moves a program to its place atomically, also from another file system.
func moveInto(made, path string) error {
	program, err := os.ReadFile(made)
	if err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	scratch := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(scratch, program, 0o755); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	return os.Rename(scratch, path)
}
