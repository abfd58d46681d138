package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"nodal/node/audit"
)

// Audit holds what is kept of requests, and where.
type Audit struct {
	Path       string
	MaxBytes   int64 // of one file
	Backups    int
	Policy     audit.Policy
	Fields     audit.Fields
	LetThrough bool // requests run although they cannot be kept
}

// AuditFlags receives the flags of the audit log.
type AuditFlags struct {
	Path      string
	MaxSize   int // MiB
	Backups   int
	Levels    []string // verb=level
	Fields    []string
	OnFailure string
}

const (
	refuseUnaudited = "refuse"
	allowUnaudited  = "allow"
)

// resolveAudit checks the flags. --audit-policy changes the levels that it names and leaves the default of the others.
func resolveAudit(f AuditFlags, dirs Dirs) (a Audit, err error) {
	a = Audit{Path: dirs.AuditLog(), Policy: audit.DefaultPolicy()}
	if f.Path != "" {
		if a.Path, err = filepath.Abs(f.Path); err != nil {
			return a, fmt.Errorf("resolve --audit-log-path: %w", err)
		}
	}
	for _, item := range f.Levels {
		verb, level, ok := strings.Cut(item, "=")
		if !ok {
			return a, fmt.Errorf("--audit-policy: %q: write verb=level, such as read=metadata", item)
		}
		if err := a.Policy.Set(verb, level); err != nil {
			return a, fmt.Errorf("--audit-policy: %q: %w", item, err)
		}
	}
	if a.Fields, err = audit.FieldsNamed(f.Fields); err != nil {
		return a, fmt.Errorf("--audit-fields: %w", err)
	}
	// The log has to be bounded: it lies on the disk of the node's records.
	if f.MaxSize < 1 || f.MaxSize > 1<<20 {
		return a, fmt.Errorf("--audit-log-maxsize: %d is not between 1 and %d", f.MaxSize, 1<<20)
	}
	if f.Backups < 1 || f.Backups > 1000 {
		return a, fmt.Errorf("--audit-log-maxbackup: %d is not between 1 and 1000", f.Backups)
	}
	if f.OnFailure != refuseUnaudited && f.OnFailure != allowUnaudited {
		return a, fmt.Errorf("--audit-on-failure: %q is neither %s nor %s", f.OnFailure, refuseUnaudited, allowUnaudited)
	}
	a.MaxBytes, a.Backups, a.LetThrough = int64(f.MaxSize)<<20, f.Backups, f.OnFailure == allowUnaudited
	return a, nil
}
