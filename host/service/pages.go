package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writePages writes manual pages. A page of another program keeps its name.
type writePages struct {
	dir   string
	pages map[string]string
	mark  string // the beginning of each page of ours
}

func (s writePages) String() string {
	return fmt.Sprintf("write %d manual pages to %s, unless others are there", len(s.pages), s.dir)
}

func (s writePages) Do(context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		path := filepath.Join(s.dir, name)
		text, err := os.ReadFile(path)
		if err == nil && !strings.HasPrefix(string(text), s.mark) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look whether %s is ours: %w", path, err)
		}
		if err := put(path, strings.NewReader(s.pages[name]), 0o644); err != nil {
			return fmt.Errorf("write the manual page %s: %w", path, err)
		}
	}
	return nil
}

// removePages takes writePages back, for pages of other versions too.
type removePages struct{ dir, mark string }

func (s removePages) String() string { return "remove the manual pages in " + s.dir }

func (s removePages) Do(context.Context) error {
	pages, err := filepath.Glob(filepath.Join(s.dir, "*.1"))
	if err != nil {
		return err
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil || s.mark == "" || !strings.HasPrefix(string(text), s.mark) {
			continue // it is not ours
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
