//go:build !bundle

package embedded

// Bundle is the archive and its table of contents, and whether this binary has
// one: this one has not.
func Bundle() (archive []byte, index []byte, ok bool) { return nil, nil, false }
