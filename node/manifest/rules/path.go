package rules

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// filePath checks the path of a file the node writes inside a volume.
func (c *check) filePath(at *field.Path, value string, seen map[string]bool) {
	if value == "" {
		c.missing(at, "")
		return
	}
	c.localPath(at, value)
	// Names that start with two dots are the node's own, for atomic updates.
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") && value != ".." {
		c.bad(at, value, "must not start with '..'")
	}
	if seen != nil { // where it is nil the last of one path counts
		c.unique(at, seen, value)
	}
}

func (c *check) optionalFilePath(at *field.Path, path string, seen map[string]bool) {
	if path != "" {
		c.filePath(at, path, seen)
	}
}

// localPath requires a path that stays below where it starts.
func (c *check) localPath(at *field.Path, value string) {
	if path.IsAbs(value) {
		c.bad(at, value, "must be a relative path")
	}
	c.noBacksteps(at, value)
}

func (c *check) noBacksteps(at *field.Path, value string) {
	for part := range strings.SplitSeq(value, "/") {
		if part == ".." {
			c.bad(at, value, "must not contain '..'")
			return
		}
	}
}

func (c *check) mode(at *field.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		c.bad(at, *mode, "must be between 0 and 0777 (octal), both inclusive")
	}
}
