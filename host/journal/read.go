package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"nodal/node/store"
)

// Read returns the records of these names as they were committed last, without those that are gone. A damaged file is
// an error: the next start puts the generation before it in its place.
func (j *Journal) Read(names ...string) ([]store.Record, error) {
	j.life.RLock()
	defer j.life.RUnlock()
	if j.closed {
		return nil, fmt.Errorf("read journal %s: %w", j.dir, fs.ErrClosed)
	}
	asked := make([]store.Record, len(names))
	for i, name := range names {
		asked[i].Name = name
	}
	if err := checkNames(asked); err != nil {
		return nil, err
	}
	defer j.names.lock(asked)()
	if err := j.settlePending(asked); err != nil {
		return nil, fmt.Errorf("read journal %s: %w", j.dir, err)
	}
	var found []store.Record
	for _, name := range names {
		file := j.file(name)
		r, err := j.read(file, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read journal %s: record %s: %w", j.dir, name, err)
		}
		found = append(found, r)
	}
	return found, nil
}

// Has reports whether the journal in a directory has a record below a prefix. It takes no lock, so that it may be asked
// beside the agent, and its answer may be old at once.
func Has(dir, prefix string) bool {
	found := false
	_ = filepath.WalkDir(filepath.Join(dir, recordsName, prefix), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, recordSuffix) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
