package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxStateDir is what a unix address leaves us: containerd takes a directory
// for its shims' sockets of at most 42 bytes, and appends a digest to it.
const maxStateDir = 40

const stateParent = "/run/nodal"

// layout knows where everything of one node lies.
type layout struct {
	id    string
	root  string // survives a reboot
	state string // does not
}

func newLayout(rootDir, stateDir string) (layout, error) {
	if !filepath.IsAbs(rootDir) || filepath.Clean(rootDir) == "/" {
		return layout{}, fmt.Errorf("root directory %q: it has to be absolute and not the root of the file system", rootDir)
	}
	if stateDir == "" {
		stateDir = DefaultStateDir(rootDir)
	}
	if !filepath.IsAbs(stateDir) || filepath.Clean(stateDir) == "/" {
		return layout{}, fmt.Errorf("runtime state directory %q: it has to be absolute and not the root of the file system", stateDir)
	}
	if stateDir = filepath.Clean(stateDir); len(stateDir) > maxStateDir {
		return layout{}, fmt.Errorf("runtime state directory %q: its path has %d bytes, of which the addresses of sockets leave %d", stateDir, len(stateDir), maxStateDir)
	}
	return layout{id: ID(rootDir), root: below(rootDir), state: stateDir}, nil
}

// ID is the name by which everything of a node with this root directory is
// told from another node's.
func ID(rootDir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(rootDir)))
	return hex.EncodeToString(sum[:6])
}

// DefaultStateDir is where a node with this root directory keeps what does not
// survive a reboot.
func DefaultStateDir(rootDir string) string { return filepath.Join(stateParent, ID(rootDir)) }

// RegistriesDir is where a node with this root directory keeps a hosts.toml for
// each registry: its mirrors, authority and credentials. It is read on each pull.
func RegistriesDir(rootDir string) string {
	return layout{root: below(rootDir)}.registries()
}

// Conflist describes the network of the pods of a node with this root directory.
func Conflist(rootDir string) string {
	return layout{root: below(rootDir)}.conflist()
}

// below is where all of it is that survives a reboot.
func below(rootDir string) string { return filepath.Join(rootDir, "runtime") }

func (l layout) lock() string       { return filepath.Join(l.root, "lock") }
func (l layout) bundles() string    { return filepath.Join(l.root, "bundles") }
func (l layout) content() string    { return filepath.Join(l.root, "containerd") }
func (l layout) temp() string       { return filepath.Join(l.root, "tmp") }
func (l layout) opt() string        { return filepath.Join(l.root, "opt") }
func (l layout) registries() string { return filepath.Join(l.root, "registries") }
func (l layout) networks() string   { return filepath.Join(l.root, "net.d") }
func (l layout) addresses() string  { return filepath.Join(l.root, "addresses") }
func (l layout) log() string        { return filepath.Join(l.root, "containerd.log") }
func (l layout) conflist() string   { return filepath.Join(l.networks(), "10-nodal.conflist") }

func (l layout) socket() string  { return filepath.Join(l.state, "containerd.sock") }
func (l layout) tasks() string   { return filepath.Join(l.state, "c") }
func (l layout) shims() string   { return filepath.Join(l.state, "s") }
func (l layout) runc() string    { return filepath.Join(l.state, "runc") }
func (l layout) bridge() string  { return "nd-" + l.id[:6] } // an interface's name has 15 bytes
func (l layout) nftable() string { return "nodal-" + l.id }

// config is the configuration with this digest: the name in containerd's
// command line says what it was started with.
func (l layout) config(digest string) string {
	return filepath.Join(l.root, "config-"+digest+".toml")
}

// holds reports whether a path lies in one of the node's runtime directories.
func (l layout) holds(path string) bool { return inside(path, l.root) || inside(path, l.state) }

// sharedWith reports whether a process that names the node's directories means ours: in
// a container, another node's may be at the same paths.
func (l layout) sharedWith(p process) bool {
	return p.sees(l.root) || isDir(l.state) && p.sees(l.state)
}

func inside(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func (l layout) make() error {
	for _, dir := range []string{l.root, l.bundles(), l.content(), l.temp(), l.opt(), l.registries(), l.networks(), l.addresses(), l.state, l.tasks(), l.shims(), l.runc()} {
		// Containers of other users reach their root file systems through some of these.
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("make a directory of the runtime: %w", err)
		}
	}
	return nil
}
