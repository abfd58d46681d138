package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"
)

// Config holds an agent's paths, ports and settings.
type Config struct {
	Binary       string
	Dir          string // used by this agent alone
	Socket       string // short: a unix address has 108 bytes
	Endpoint     string // the container runtime's endpoint
	CgroupParent string
	Ports        Ports
	// Settings are fields of KubeletConfiguration, by their JSON names.
	Settings map[string]any
	Flags    []string
	Env      []string
}

// Ports are the agent's ports on loopback; zero keeps one closed.
type Ports struct{ Secure, Healthz, ReadOnly int }

// Root returns the agent's --root-dir.
func (c Config) Root() string { return filepath.Join(c.Dir, "root") }

// PodLogs returns the directory with the logs of containers.
func (c Config) PodLogs() string { return filepath.Join(c.Dir, "pods") }

// Credential returns the path of a file that the agent makes for its users, such as "admin.token".
func (c Config) Credential(name string) string { return filepath.Join(c.Root(), "credentials", name) }

// CA returns the path of the authority's certificate that signs the agent's.
func (c Config) CA() string { return filepath.Join(c.Root(), "pki/ca.crt") }

// write creates the directory and the configuration, and returns the command line.
func (c Config) write() ([]string, error) {
	settings := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"containerRuntimeEndpoint": c.Endpoint, "cgroupRoot": c.CgroupParent, "podLogsDir": c.PodLogs(),
		// Other processes may use all of the machine's memory.
		"evictionHard": map[string]string{"memory.available": "0%"},
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
		"--kernel-tunables", "leave", // other programs of the machine use these settings too
	}
	for _, port := range []struct {
		flag   string
		number int
	}{{"--port", c.Ports.Secure}, {"--healthz-port", c.Ports.Healthz}, {"--read-only-port", c.Ports.ReadOnly}} {
		args = append(args, port.flag, strconv.Itoa(port.number))
	}
	return append(args, c.Flags...), nil
}
