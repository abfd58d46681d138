//go:build bundle

package embedded

import _ "embed"

// The compiler embeds into variables only; nothing ever writes to these.
var (
	//go:embed bundle.tar.zst
	archiveFile []byte
	//go:embed bundle.json
	indexFile []byte
	//go:embed pause
	pauseFile []byte
)

// Bundle returns the archive and its table of contents, and whether this binary has
// one. The caller must not change them.
func Bundle() (archive []byte, index []byte, ok bool) { return archiveFile, indexFile, true }

// Pause returns the program that holds a pod's namespaces open. Its image is needed before
// anything is unpacked.
func Pause() []byte { return pauseFile }
