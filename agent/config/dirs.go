package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dirs are the node's directories. They are absolute.
type Dirs struct {
	Root, Cert, PodLogs string
	RuntimeLink         string // leads to the socket of the built-in runtime; empty for none
}

// Journal returns the directory of the node's records.
func (d Dirs) Journal() string { return filepath.Join(d.Root, "journal") }

// SecretsKey returns the file of the key that seals Secrets, unless --secrets-key names another.
func (d Dirs) SecretsKey() string { return filepath.Join(d.Root, "secrets.key") }

// Pods returns the directory of pods' volumes and files.
func (d Dirs) Pods() string { return filepath.Join(d.Root, "pods") }

// LocalVolumes returns the directory of the data of claims. They outlive pods and the node.
func (d Dirs) LocalVolumes() string { return filepath.Join(d.Root, "local-volumes") }

// Images returns the directory of imported images.
func (d Dirs) Images() string { return filepath.Join(d.Root, "images") }

// ImageRecords returns the directory that records which credentials pulled which image.
func (d Dirs) ImageRecords() string { return filepath.Join(d.Root, "image_manager") }

// Registries returns the directory of the owner's configuration of registries.
func (d Dirs) Registries() string { return filepath.Join(d.Root, "registries") }

// Seccomp returns the directory of the profiles that pods name.
func (d Dirs) Seccomp() string { return filepath.Join(d.Root, "seccomp") }

// Addresses returns the file with the node's addresses of the last start.
func (d Dirs) Addresses() string { return filepath.Join(d.Root, "node-addresses") }

// Cordon is the file that is there while the node takes no new pods.
func (d Dirs) Cordon() string { return filepath.Join(d.Root, "cordon.json") }

// AuditLog returns the file of the audit log, unless --audit-log-path names another.
func (d Dirs) AuditLog() string { return filepath.Join(d.Root, "audit", "audit.log") }

// UsageHistory returns the directory of what the node and its pods have used.
func (d Dirs) UsageHistory() string { return filepath.Join(d.Root, "history", "usage") }

// PodHistory returns the directory of how pods were.
func (d Dirs) PodHistory() string { return filepath.Join(d.Root, "history", "pods") }

// Events returns the file of the node's events.
func (d Dirs) Events() string { return filepath.Join(d.Root, "history", "events") }

// PodResources returns upstream's socket that says which resources belong to single containers.
func (d Dirs) PodResources() string { return filepath.Join(d.Root, "pod-resources", "kubelet.sock") }

// PodsAPI returns upstream's socket that lists and watches pods.
func (d Dirs) PodsAPI() string { return filepath.Join(d.Root, "pods-api", "pods-api.sock") }

// Shutdown returns the file that says when the machine last shut down. It has upstream's name.
func (d Dirs) Shutdown() string { return filepath.Join(d.Root, "graceful_node_shutdown_state") }

// Plugins returns the directory in which plugins register.
func (d Dirs) Plugins() string { return filepath.Join(d.Root, "plugins_registry") }

// Staging returns the directory of the plugins' own files, in which CSI volumes are staged.
func (d Dirs) Staging() string { return filepath.Join(d.Root, "plugins") }

// DevicePlugins returns the directory of device plugins, with the socket on which they register.
func (d Dirs) DevicePlugins() string { return filepath.Join(d.Root, "device-plugins") }

// LogLinks returns the directory of links to logs. Log collectors look in one place, wherever the logs are. A node with a
// root directory of its own may be one of several on its machine; its links are beside its logs.
func (d Dirs) LogLinks() string {
	if d.Root == DefaultRoot {
		return logLinks
	}
	return filepath.Join(filepath.Dir(d.PodLogs), "containers")
}

// runtimeLink returns the path at which other programs find the built-in runtime: beside the socket of the node's API.
func runtimeLink(socket string) string {
	path := strings.TrimPrefix(socket, "unix://")
	if path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), "cri.sock")
}

// leadsToOwnRuntime reports whether an endpoint is the link to the built-in runtime. kubeadm has no other way to name that
// runtime than by a socket, and writes it into the kubelet's configuration. After a boot the link is not there yet. A
// socket in its place is another runtime's.
func (d Dirs) leadsToOwnRuntime(endpoint string) bool {
	plain := func(path string) string {
		path = strings.TrimPrefix(path, "unix://")
		if rest, ok := strings.CutPrefix(path, "/var/run/"); ok { // /var/run is /run
			path = "/run/" + rest
		}
		return filepath.Clean(path)
	}
	if d.RuntimeLink == "" || endpoint == "" || plain(endpoint) != plain(d.RuntimeLink) {
		return false
	}
	there, err := os.Lstat(d.RuntimeLink)
	return err != nil || there.Mode()&fs.ModeSymlink != 0
}
