package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files names the places where the node keeps credentials for all its pods, in the form of
// Docker's configuration. The first file that is found counts.
type Files struct {
	Root string // the agent's root directory
	Dir  string // where the agent was started
	Home string // of the user that the agent runs as
}

// Read reads the first valid file. The error names the files before it.
func (f Files) Read() (Keyring, error) {
	var errs []error
	for _, file := range []struct {
		path string
		read func([]byte) (Keyring, error)
	}{
		{filepath.Join(f.Root, "config.json"), parse},
		{filepath.Join(f.Dir, "config.json"), parse},
		{filepath.Join(f.Home, ".docker", "config.json"), parse},
		{"/.docker/config.json", parse},
		{filepath.Join(f.Root, ".dockercfg"), parseLegacy},
		{filepath.Join(f.Dir, ".dockercfg"), parseLegacy},
		{filepath.Join(f.Home, ".dockercfg"), parseLegacy},
		{"/.dockercfg", parseLegacy},
	} {
		data, err := os.ReadFile(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var keys Keyring
		if err == nil {
			keys, err = file.read(data)
		}
		if err == nil {
			return keys, errors.Join(errs...)
		}
		errs = append(errs, fmt.Errorf("read registry credentials from %s: %w", file.path, err))
	}
	return nil, errors.Join(errs...)
}
