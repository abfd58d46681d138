package neighbour

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"nodal/node"
)

// Book holds the nodes of a file.
type Book struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	read  stamp
	peers []*peer
	fault error
}

// stamp tells one state of a file from another.
type stamp struct {
	written time.Time
	bytes   int64
	mode    fs.FileMode
}

// Open returns the nodes of the file at path. Nothing is read before it is asked for.
func Open(path string) *Book { return &Book{path: path, now: time.Now} }

// List returns the nodes in the order of the file.
func (b *Book) List() ([]node.Neighbour, error) {
	peers, err := b.present()
	if err != nil {
		return nil, err
	}
	all := make([]node.Neighbour, 0, len(peers))
	for _, p := range peers {
		all = append(all, node.Neighbour{Name: p.name, URL: p.url})
	}
	return all, nil
}

// present reads the file if it has changed.
func (b *Book) present() ([]*peer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, err := os.Stat(b.path)
	if err != nil {
		return nil, fmt.Errorf("read --nodes-file: %w", err)
	}
	if now := (stamp{found.ModTime(), found.Size(), found.Mode()}); now != b.read {
		for _, p := range b.peers {
			p.client.CloseIdleConnections()
		}
		b.peers, b.fault = load(b.path, found)
		b.read = now
		if b.fault != nil {
			b.read = stamp{} // what is wrong may be none of the stamp's
		}
	}
	return b.peers, b.fault
}

// file is a file of kubelet context.
type file struct {
	Current  string   `json:"current,omitempty"`
	Contexts []record `json:"contexts"`
}

type record struct {
	Name  string `json:"name"`
	Node  string `json:"node"`
	CA    string `json:"ca,omitempty"`
	Token string `json:"token,omitempty"`
}

const (
	mostNodes = 256
	// shared are the bits of a mode that let others than the owner and the group have the tokens.
	shared fs.FileMode = 0o007
)

func load(path string, found fs.FileInfo) ([]*peer, error) {
	if found.Mode().Perm()&shared != 0 {
		return nil, fmt.Errorf("--nodes-file %s holds tokens, and all users of the machine can read it; run chmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read --nodes-file: %w", err)
	}
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("--nodes-file %s: %w; kubelet context add writes such a file", path, err)
	}
	if len(f.Contexts) > mostNodes {
		return nil, fmt.Errorf("--nodes-file %s has %d nodes: at most %d are shown", path, len(f.Contexts), mostNodes)
	}
	var peers []*peer
	names := map[string]bool{}
	for _, r := range f.Contexts {
		p, err := r.peer()
		if err == nil && names[r.Name] {
			err = errors.New("the name stands there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("--nodes-file %s: node %q: %w", path, r.Name, err)
		}
		names[r.Name] = true
		peers = append(peers, p)
	}
	return peers, nil
}

// peer checks a record.
func (r record) peer() (*peer, error) {
	if r.Name == "" || r.Name == "." || r.Name == ".." || strings.ContainsFunc(r.Name, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`/\?#%`, c) }) {
		return nil, errors.New("want a name without blanks, slashes, ?, # and %")
	}
	u, err := url.Parse(r.Node)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("node: want a URL such as https://host:10250") // the value may hold a password
	}
	if u.Port() == "" {
		u.Host += ":10250"
	}
	if r.Token == "" || strings.ContainsFunc(r.Token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errors.New("token missing: give one of a viewer there, as kubelet token create prints it")
	}
	client, err := clientFor(r.CA)
	if err != nil {
		return nil, err
	}
	return &peer{name: r.Name, url: "https://" + u.Host, token: r.Token, client: client}, nil
}
