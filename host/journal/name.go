package journal

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"nodal/node"
	"nodal/node/store"
)

// What the end of a file's name says about it.
const (
	recordSuffix      = ".rec"
	previousSuffix    = ".prev"
	stagedSuffix      = ".tmp"
	transactionSuffix = ".txn"
)

const (
	maxName = 1024
	// A pod's namespace and name can be 317 bytes together, a file's name 255.
	// Longer elements are shortened, which leaves room for the suffixes.
	maxElement = 180
	keptPrefix = 120
)

// checkName refuses names that cannot be a path of their own below the records.
func checkName(name string) error {
	if name == "." || !fs.ValidPath(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%w record name %q: want elements between slashes, none of them empty, %q or %q",
			node.ErrInvalid, name, ".", "..")
	}
	if len(name) > maxName {
		return fmt.Errorf("%w record name %.40q...: longer than %d bytes", node.ErrInvalid, name, maxName)
	}
	for element := range strings.SplitSeq(path.Dir(name), "/") {
		switch path.Ext(element) {
		case recordSuffix, previousSuffix, stagedSuffix: // could be the file of another record
			return fmt.Errorf("%w record name %q: the suffix of %q is reserved", node.ErrInvalid, name, element)
		}
	}
	return nil
}

// checkNames checks all names of one commit.
func checkNames(records []store.Record) error {
	seen := make(map[string]bool, len(records))
	for _, r := range records {
		if err := checkName(r.Name); err != nil {
			return err
		}
		if seen[r.Name] {
			return fmt.Errorf("%w commit: record %q is in it twice", node.ErrInvalid, r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

// recordFile returns where a record is kept below the directory of records.
func recordFile(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		if len(e) > maxElement {
			// Longer than any element that is kept as it is: the two never meet.
			elements[i] = fmt.Sprintf("%s~%x", e[:keptPrefix], sha256.Sum256([]byte(e)))
		}
	}
	return filepath.Join(elements...) + recordSuffix
}
