package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BinaryEnv names a kubelet that is built already.
const BinaryEnv = "NODAL_KUBELET"

// Build returns the path of the kubelet that NODAL_KUBELET names, or else of
// one that it builds into dir.
func Build(dir string) (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "kubelet")
	build := exec.Command("go", "build", "-tags", tags(), "-trimpath", "-o", path, "nodal/cmd/kubelet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the kubelet: %w\n%s", err, out)
	}
	return path, nil
}

// tags has the kubelet bring its container runtime along once that was built.
func tags() string {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "nodal/host/runtime/embedded").Output()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(dir)), "bundle.tar.zst")); err != nil {
		return ""
	}
	return "bundle"
}

// Main runs a package's tests with a kubelet that is built once for all of
// them, and returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nodal-kubelet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path, err := Build(dir)
	if err == nil {
		err = os.Setenv(BinaryEnv, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// GrpcurlEnv names a grpcurl that is built already.
const GrpcurlEnv = "NODAL_GRPCURL"

// Grpcurl returns the path of the grpcurl that NODAL_GRPCURL names, or else of
// the pinned one, built at first use.
func Grpcurl() (string, error) {
	if path := os.Getenv(GrpcurlEnv); path != "" {
		return filepath.Abs(path)
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	tools := filepath.Join(root, "test/tools/go.mod")
	// -n builds the tool and names it instead of running it.
	path, err := exec.Command("go", "tool", "-modfile="+tools, "-n", "grpcurl").Output()
	if err != nil {
		return "", fmt.Errorf("build grpcurl: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}

// RegistryEnv names a registry that is built already.
const RegistryEnv = "NODAL_REGISTRY"

// Registry returns the path of the registry that NODAL_REGISTRY names, or else of
// one that it builds into dir from a module of its own.
func Registry(dir string) (string, error) {
	if path := os.Getenv(RegistryEnv); path != "" {
		return filepath.Abs(path)
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "registry")
	build := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	build.Dir, build.Env = filepath.Join(root, "test/registry"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the registry: %w\n%s", err, out)
	}
	return path, nil
}

// repository is the directory of the agent's module.
func repository() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}
