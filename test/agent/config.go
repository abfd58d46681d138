package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"
)

// Config says where an agent lives and what it runs on.
type Config struct {
	Binary       string
	Dir          string // of the agent alone
	Socket       string // short: a unix address has 108 bytes
	Endpoint     string // of the container runtime
	CgroupParent string
	Ports        Ports
	// Settings are fields of KubeletConfiguration, by their JSON names.
	Settings map[string]any
	Flags    []string
}

// Ports are on loopback; zero is closed.
type Ports struct{ Secure, Healthz, ReadOnly int }

// Root is the agent's --root-dir.
func (c Config) Root() string { return filepath.Join(c.Dir, "root") }

// PodLogs returns the directory of containers' logs.
func (c Config) PodLogs() string { return filepath.Join(c.Dir, "pods") }

// Credential is a file that the agent makes for its users, such as "admin.token".
func (c Config) Credential(name string) string { return filepath.Join(c.Root(), "credentials", name) }

// CA is the authority that signs the agent's certificate.
func (c Config) CA() string { return filepath.Join(c.Root(), "pki/ca.crt") }

// write lays out the directory and returns the command line.
func (c Config) write() ([]string, error) {
	settings := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"containerRuntimeEndpoint": c.Endpoint, "cgroupRoot": c.CgroupParent, "podLogsDir": c.PodLogs(),
		"evictionHard": map[string]string{"memory.available": "0%"}, // what others leave of the machine is not the test's matter
	}
	for field, value := range c.Settings {
		settings[field] = value
	}
	text, err := yaml.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("encode the agent's configuration: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the agent's directory: %w", err)
	}
	file := filepath.Join(c.Dir, "config.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the agent's configuration: %w", err)
	}
	args := []string{
		"--config", file, "--root-dir", c.Root(), "--socket", c.Socket, "--address", "127.0.0.1",
		"--kernel-tunables", "leave", // which are not the agent's alone
	}
	for _, port := range []struct {
		flag   string
		number int
	}{{"--port", c.Ports.Secure}, {"--healthz-port", c.Ports.Healthz}, {"--read-only-port", c.Ports.ReadOnly}} {
		args = append(args, port.flag, strconv.Itoa(port.number))
	}
	return append(args, c.Flags...), nil
}
