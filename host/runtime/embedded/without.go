//go:build !bundle

package embedded

// Bundle returns the archive and its table of contents, and whether this binary has
// one: this one has not.
func Bundle() (archive []byte, index []byte, ok bool) { return nil, nil, false }

// Pause returns the program that holds a pod's namespaces open: there is none here.
func Pause() []byte { return nil }
