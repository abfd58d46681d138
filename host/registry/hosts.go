package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nodal/host/replace"
)

const (
	hostsFile   = "hosts.toml"
	defaultHost = "_default" // containerd's name for every host without a directory
)

// Mirror is the address of the store, with the token that opens it. Without an address there is none.
type Mirror struct{ URL, Token string }

// WriteHosts writes the directory in which containerd looks up registries. It copies the
// owner's directory, a directory a host with a hosts.toml in it, but puts our mirror first for
// each host. Hosts without an entry use _default, which is ours alone. Without a mirror it only
// copies.
//
// containerd reads these files at each pull, so each is replaced whole. It ignores a file that
// it cannot read, and would go on to the public registry. So a host whose file is broken serves
// only imported images until the file is mended. The error names the fault of each, and the
// rest is in place.
func WriteHosts(user, effective string, mirror Mirror) error {
	if err := os.MkdirAll(effective, dirMode); err != nil {
		return fmt.Errorf("make the directory of registries: %w", err)
	}
	entries, err := os.ReadDir(user)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration of registries: %w", err)
	}
	wanted := map[string]bool{defaultHost: mirror.URL != ""}
	var errs []error
	for _, entry := range entries {
		wanted[entry.Name()] = true
		h := host{from: filepath.Join(user, entry.Name()), to: filepath.Join(effective, entry.Name()), mirror: mirror}
		if info, err := os.Stat(h.from); err == nil && info.IsDir() {
			errs = append(errs, h.write())
		} else {
			errs = append(errs, link(h.from, h.to)) // what the files of several hosts may share
		}
	}
	if _, err := os.Stat(filepath.Join(user, defaultHost)); errors.Is(err, fs.ErrNotExist) && mirror.URL != "" {
		h := host{to: filepath.Join(effective, defaultHost), mirror: mirror}
		errs = append(errs, h.put(mirror.section()))
	}
	errs = append(errs, removeOthers(effective, wanted))
	return errors.Join(errs...)
}

// host is the directory of one registry, the user's and the runtime's.
type host struct {
	from, to string
	mirror   Mirror
}

// write renders a host's hosts.toml and links what lies beside it, so that the
// relative paths of certificates lead to the user's.
func (h host) write() error {
	entries, err := os.ReadDir(h.from)
	if err != nil {
		return fmt.Errorf("read the configuration of a registry: %w", err)
	}
	if err := os.MkdirAll(h.to, dirMode); err != nil {
		return fmt.Errorf("make the directory of a registry: %w", err)
	}
	wanted := map[string]bool{hostsFile: true}
	for _, entry := range entries {
		if entry.Name() == hostsFile {
			continue
		}
		wanted[entry.Name()] = true
		if err := link(filepath.Join(h.from, entry.Name()), filepath.Join(h.to, entry.Name())); err != nil {
			return err
		}
	}
	text, broken := h.render()
	return errors.Join(broken, h.put(text), removeOthers(h.to, wanted))
}

func (h host) put(text string) error {
	if err := os.MkdirAll(h.to, dirMode); err != nil {
		return fmt.Errorf("make the directory of a registry: %w", err)
	}
	path := filepath.Join(h.to, hostsFile)
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := replace.File(path, []byte(text), fileMode); err != nil {
		return fmt.Errorf("write the configuration of a registry: %w", err)
	}
	return nil
}

// render puts the mirror before the hosts of the user's file. The text is usable
// whatever the error says.
func (h host) render() (string, error) {
	path := filepath.Join(h.from, hostsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		text, err = h.certificates()
	}
	if err != nil {
		return h.mirror.alone(), fmt.Errorf("read %s: %w", path, err)
	}
	at, err := checkHosts(text)
	if err != nil {
		return h.mirror.alone(), fmt.Errorf("registry configuration %s: %w; until it is mended, that registry has only what was imported", path, err)
	}
	before := string(text[:at])
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + h.mirror.section() + string(text[at:]), nil
}

// certificates returns a hosts.toml that names the certificates in a user's directory without
// one, as docker reads them: *.crt are authorities, *.cert with *.key the client's. containerd
// itself finds them only in a directory without a hosts.toml, and the runtime's has one.
func (h host) certificates() ([]byte, error) {
	authorities, err := filepath.Glob(filepath.Join(h.from, "*.crt"))
	if err != nil {
		return nil, err
	}
	own, err := filepath.Glob(filepath.Join(h.from, "*.cert"))
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if len(authorities) > 0 {
		fmt.Fprintf(&text, "ca = [%s]\n", quoted(authorities))
	}
	var pairs []string
	for _, cert := range own {
		pairs = append(pairs, "["+quoted([]string{cert, strings.TrimSuffix(cert, ".cert") + ".key"})+"]")
	}
	if len(pairs) > 0 {
		fmt.Fprintf(&text, "client = [%s]\n", strings.Join(pairs, ", "))
	}
	return []byte(text.String()), nil
}

func quoted(paths []string) string {
	var names []string
	for _, path := range paths {
		names = append(names, fmt.Sprintf("%q", filepath.Base(path)))
	}
	return strings.Join(names, ", ")
}

// section returns the table that makes containerd ask the mirror before the hosts that follow;
// "" without a mirror.
func (m Mirror) section() string {
	if m.URL == "" {
		return ""
	}
	return fmt.Sprintf(`# What was imported into this node comes first. The agent writes this at each start.
[host.%[1]q]
  capabilities = ["pull", "resolve"]
  [host.%[1]q.header]
    Authorization = "Bearer %[2]s"

`, m.URL, m.Token)
}

// alone returns a whole hosts.toml with which containerd asks the mirror only, and never the registry. Without a mirror
// it names a host that cannot exist, and whose name tells the fault in containerd's error.
func (m Mirror) alone() string {
	if m.URL == "" {
		return "server = \"https://configuration-of-this-registry-is-broken.invalid\"\n"
	}
	return fmt.Sprintf("server = %q\n\n[header]\n  Authorization = \"Bearer %s\"\n\n", m.URL, m.Token) + m.section()
}

// link makes a symbolic link at to that leads to from, in place of what is there.
func link(from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if at, err := os.Readlink(to); err == nil && at == from {
		return nil
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Symlink(from, to)
}

// removeOthers removes what an earlier configuration left.
func removeOthers(dir string, wanted map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !wanted[entry.Name()] {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
