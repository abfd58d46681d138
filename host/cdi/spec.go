package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"
)

// Bounds of specs.
const (
	mostBytes = 4 << 20
	mostFiles = 200
)

// spec holds what is read of a file.
type spec struct {
	Version string   `json:"cdiVersion"`
	Kind    string   `json:"kind"`
	Devices []device `json:"devices"`
}

type device struct {
	Name  string `json:"name"`
	Edits struct {
		Nodes []deviceFile `json:"deviceNodes"`
	} `json:"containerEdits"`
}

// deviceFile is a device file of a container, and that of the machine if it has another path.
type deviceFile struct {
	Path string `json:"path"`
	Host string `json:"hostPath"`
}

// read reads one spec. It waits for no writer of a pipe.
func read(path string) (s spec, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return s, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	switch {
	case err != nil:
		return s, err
	case len(text) > mostBytes:
		return s, fmt.Errorf("%s has more than %d bytes", path, mostBytes)
	}
	if err := yaml.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s is no spec of CDI: %w; generate it again", path, err)
	}
	if s.Version == "" || s.Kind == "" {
		return s, fmt.Errorf("%s is no spec of CDI: it says no cdiVersion or no kind; generate it again", path)
	}
	return s, nil
}

// list returns the specs in a directory, in order. One that is not there has none.
func list(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".json" || ext == ".yaml") && !e.IsDir() && len(paths) < mostFiles {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// single returns the devices of a kind, each once. Generators list a device under several names, and all of them together
// as "all": what has no device file of its own beside those of smaller ones is left out.
func single(devices []device) []device {
	order := slices.Clone(devices)
	slices.SortStableFunc(order, func(a, b device) int {
		return cmp.Or(
			cmp.Compare(len(a.Edits.Nodes), len(b.Edits.Nodes)), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name),
		)
	})
	claimed, kept := map[deviceFile]bool{}, []device{}
	for _, d := range order {
		own := len(d.Edits.Nodes) == 0
		for _, file := range d.Edits.Nodes {
			own = own || !claimed[file]
			claimed[file] = true
		}
		if own && d.Name != "" && d.Name != "all" {
			kept = append(kept, d)
		}
	}
	slices.SortFunc(kept, func(a, b device) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return kept
}

// missing returns a device file that the machine does not have, or nothing.
func (d device) missing() string {
	for _, file := range d.Edits.Nodes {
		if path := cmp.Or(file.Host, file.Path); path != "" {
			if _, err := os.Stat(path); err != nil {
				return path
			}
		}
	}
	return ""
}
