package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxStateDir follows from the length of unix addresses: containerd takes a directory of at most 42 bytes for its
// shims' sockets, and appends a digest to it.
const maxStateDir = 40

const stateParent = "/run/nodal"

// layout holds the directories of one node.
type layout struct {
	id    string
	root  string // survives a reboot
	state string // does not survive a reboot
}

// newLayout checks the directories of a configuration.
func newLayout(c Config) (layout, error) {
	if !filepath.IsAbs(c.RootDir) || filepath.Clean(c.RootDir) == "/" {
		return layout{}, fmt.Errorf("root directory %q: must be absolute and not /",
			c.RootDir)
	}
	l := layoutOf(c)
	if !filepath.IsAbs(l.state) || l.state == "/" {
		return layout{}, fmt.Errorf(
			"runtime state directory %q: must be absolute and not /", c.StateDir)
	}
	if len(l.state) > maxStateDir {
		return layout{}, fmt.Errorf(
			"runtime state directory %q: its path has %d bytes, of which the addresses of sockets leave %d",
			l.state, len(l.state), maxStateDir)
	}
	return l, nil
}

func layoutOf(c Config) layout {
	state := c.StateDir
	if state == "" {
		state = DefaultStateDir(c.RootDir)
	}
	return layout{id: ID(c.RootDir), root: below(c.RootDir), state: filepath.Clean(state)}
}

// ID returns a name for all things of a node with this root directory, to tell them from those of other nodes.
func ID(rootDir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(rootDir)))
	return hex.EncodeToString(sum[:6])
}

// DefaultStateDir returns the directory for files that do not survive a reboot, of a node with this root directory.
func DefaultStateDir(rootDir string) string { return filepath.Join(stateParent, ID(rootDir)) }

// RegistriesDir returns the directory with a hosts.toml for each registry, of a node with this root directory. Each
// file holds mirrors, authority and credentials, and containerd reads it on each pull.
func RegistriesDir(rootDir string) string {
	return layout{root: below(rootDir)}.registries()
}

// DirectRegistriesDir returns the directory with the same, as it is without the store of imported images. The agent
// has containerd read it to learn why a registry does not give an image.
func DirectRegistriesDir(rootDir string) string {
	return layout{root: below(rootDir)}.directRegistries()
}

// Places holds the places that the pods' network shares with the runtime.
type Places struct {
	ID         string   // of the node
	Conflist   string   // the file from which containerd learns of the network
	Addresses  string   // a directory for the addresses of pods
	Plugins    []string // patterns of directories with CNI plugins, best first
	Bundled    bool     // containerd runs the plugins of the bundle
	Programs   []string // directories with programs of the host
	Namespaces []string // directories below which every network namespace is one of this node
}

// Places returns the places that the network shares with a runtime of this configuration.
func (c Config) Places() Places {
	l, host := layoutOf(c), newHostDirs()
	return Places{
		ID: l.id, Conflist: filepath.Join(l.networks(), "10-nodal.conflist"), Addresses: l.addresses(),
		Plugins:  append([]string{filepath.Join(l.bundles(), "*/cni")}, host.plugins...),
		Bundled:  len(c.Index) > 0,
		Programs: host.programs, Namespaces: []string{l.root, l.state},
	}
}

// below returns the directory for files that survive a reboot.
func below(rootDir string) string { return filepath.Join(rootDir, "runtime") }

const (
	lockName     = "lock"
	bundlesName  = "bundles"
	networksName = "net.d"
	// Registries are written before the runtime starts.
	registriesName       = "registries"
	directRegistriesName = "registries-direct"
)

func (l layout) lock() string             { return filepath.Join(l.root, lockName) }
func (l layout) bundles() string          { return filepath.Join(l.root, bundlesName) }
func (l layout) content() string          { return filepath.Join(l.root, "containerd") }
func (l layout) temp() string             { return filepath.Join(l.root, "tmp") }
func (l layout) opt() string              { return filepath.Join(l.root, "opt") }
func (l layout) registries() string       { return filepath.Join(l.root, registriesName) }
func (l layout) directRegistries() string { return filepath.Join(l.root, directRegistriesName) }

func (l layout) networks() string  { return filepath.Join(l.root, networksName) }
func (l layout) addresses() string { return filepath.Join(l.root, "addresses") }
func (l layout) log() string       { return filepath.Join(l.root, "containerd.log") }

func (l layout) socket() string { return filepath.Join(l.state, "containerd.sock") }
func (l layout) tasks() string  { return filepath.Join(l.state, "c") }
func (l layout) shims() string  { return filepath.Join(l.state, "s") }
func (l layout) runc() string   { return filepath.Join(l.state, "runc") }

// config returns the configuration with this digest. Its name in containerd's command line says what containerd was
// started with.
func (l layout) config(digest string) string {
	return filepath.Join(l.root, "config-"+digest+".toml")
}

// holds reports whether a path lies in one of the node's runtime directories.
func (l layout) holds(path string) bool { return inside(path, l.root) || inside(path, l.state) }

// sharedWith reports whether a process sees the node's directories. In a container, another node's may be at the same
// paths.
func (l layout) sharedWith(p process) bool {
	return p.sees(l.root) || isDir(l.state) && p.sees(l.state)
}

func inside(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func (l layout) make() error {
	for _, dir := range []string{
		l.root, l.bundles(), l.content(), l.temp(), l.opt(), l.registries(), l.networks(), l.addresses(),
		l.state, l.tasks(), l.shims(), l.runc(),
	} {
		// Containers of other users reach their root file systems through some of these.
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("make a directory of the runtime: %w", err)
		}
	}
	return nil
}
