package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// hierarchy holds where the kernel keeps limits of memory.
type hierarchy struct {
	dir   string
	files []string // of one cgroup; the smallest figure counts
}

var (
	firstVersion  = hierarchy{"sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}}
	secondVersion = hierarchy{"sys/fs/cgroup", []string{"memory.max", "memory.high"}}
	// Both versions may be mounted, with the second one beside the first.
	mixedVersion = hierarchy{"sys/fs/cgroup/unified", secondVersion.files}
)

// GivenMemory returns how much memory the cgroup of this process may have, or zero if it has no limit.
// A limit of a cgroup above counts as well.
func GivenMemory(root fs.FS) (int64, error) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, fmt.Errorf("find the cgroup of this process: %w", err)
	}
	given := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		for _, h := range hierarchiesOf(number, controllers) {
			limit, err := h.smallest(root, name)
			if err != nil {
				return 0, err
			}
			given = min(given, limit)
		}
	}
	if given > math.MaxInt64/2 { // how version 1 says that there is no limit
		return 0, nil
	}
	return given, nil
}

func hierarchiesOf(number, controllers string) []hierarchy {
	switch {
	case number == "0" && controllers == "":
		return []hierarchy{secondVersion, mixedVersion}
	case controllers == "memory":
		return []hierarchy{firstVersion}
	}
	return nil
}

// smallest returns the smallest limit of a cgroup and those above it. In a container the names are
// the machine's, while the directories begin at the container's own cgroup: those that are missing are skipped.
func (h hierarchy) smallest(root fs.FS, name string) (int64, error) {
	limit := int64(math.MaxInt64)
	for name = path.Clean("/" + name); ; name = path.Dir(name) {
		for _, file := range h.files {
			one, err := limitIn(root, path.Join(h.dir, name, file))
			if err != nil {
				return 0, err
			}
			limit = min(limit, one)
		}
		if name == "/" {
			return limit, nil
		}
	}
}

func limitIn(root fs.FS, file string) (int64, error) {
	text, err := fs.ReadFile(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read a limit of memory: %w", err)
	}
	word := strings.TrimSpace(string(text))
	if word == "max" {
		return math.MaxInt64, nil
	}
	limit, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read a limit of memory from /%s: %w", file, err)
	}
	return limit, nil
}
