package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BinaryEnv names the variable with the path of a kubelet that is built already.
const BinaryEnv = "NODAL_KUBELET"

// Build returns the path in NODAL_KUBELET, or builds a kubelet into dir and returns its path.
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

// tags returns the build tags: with "bundle" once the kubelet's own runtime is built, so that it is
// embedded.
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

// Main builds a kubelet once for all tests of a package, runs them, and returns the exit code.
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

// GrpcurlEnv names the variable with the path of a grpcurl that is built already.
const GrpcurlEnv = "NODAL_GRPCURL"

// Grpcurl returns the path in NODAL_GRPCURL, or that of the pinned grpcurl, built at first use.
func Grpcurl() (string, error) {
	if path := os.Getenv(GrpcurlEnv); path != "" {
		return filepath.Abs(path)
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	tools := filepath.Join(root, "test/tools/go.mod")
	// -n builds the tool and prints its path instead of running it.
	path, err := exec.Command("go", "tool", "-modfile="+tools, "-n", "grpcurl").Output()
	if err != nil {
		return "", fmt.Errorf("build grpcurl: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}

// RegistryEnv names the variable with the path of a registry that is built already.
const RegistryEnv = "NODAL_REGISTRY"

// Registry returns the path in NODAL_REGISTRY, or builds a registry into dir, from a module of its
// own.
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

// repository returns the root directory of the agent's module.
func repository() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}

// DevicePlugin builds the plugin of devices for tests into dir.
func DevicePlugin(dir string) (string, error) { return program(dir, "deviceplugin") }

// CSIDriver builds the CSI driver for tests into dir.
func CSIDriver(dir string) (string, error) { return program(dir, "csidriver") }

// DRADriver builds the driver of devices for tests into dir.
func DRADriver(dir string) (string, error) { return program(dir, "dradriver") }

// program builds a program of the tests into dir.
func program(dir, name string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./test/"+name)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}
